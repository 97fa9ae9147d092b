package events

// ServiceScaled sets how many instances a service has.
type ServiceScaled struct {
	Scale uint32 `json:"scale"`
	// Skips are ordinals that the service does not have, although it has higher ones.
	Skips Ordinals `json:"skips,omitempty"`
}

// Kind implements Data.
func (ServiceScaled) Kind() Kind { return v1("service", "scaled") }
