package events

// ServiceResumed ends the suspension of a service. Where it comes before an instance was stopped, it leaves the service as it was.
type ServiceResumed struct {
	// Snapshot is the version of the snapshot that its volumes with state are to hold; missing where they stay as they are.
	Snapshot uint64 `json:"snapshot,omitzero"`
}

// Kind implements Data.
func (ServiceResumed) Kind() Kind { return v1("service", "resumed") }
