package events

// ServiceRevised says that a service has a new revision of its spec. The first one creates the service.
type ServiceRevised struct {
	// Revision counts from 1.
	Revision uint64 `json:"revision"`
	Spec     Spec   `json:"spec"`
	// Hash is the spec's hash.
	Hash string `json:"hash"`
	// Of is the earlier revision whose instances are as this one says, with what the names of its images stood for; 0 for none.
	Of uint64 `json:"of,omitzero"`
	// Keeps are the earlier revisions whose instances are as this one says, and stay.
	Keeps []uint64 `json:"keeps,omitempty"`
}

// Kind implements Data.
func (ServiceRevised) Kind() Kind { return v1("service", "revised") }
