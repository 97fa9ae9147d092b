package events

// ServiceRevised says that a service has a new revision of its spec. The first one creates the service.
type ServiceRevised struct {
	// Revision counts from 1.
	Revision uint64 `json:"revision"`
	Spec     Spec   `json:"spec"`
	// Hash is the spec's hash.
	Hash string `json:"hash"`
}

// Kind implements Data.
func (ServiceRevised) Kind() Kind { return v1("service", "revised") }
