package events

// ServiceScaled says how many instances a service shall have.
type ServiceScaled struct {
	Scale uint32 `json:"scale"`
	// Skips are the ordinals that it shall not have although it has higher ones.
	Skips Ordinals `json:"skips,omitempty"`
}

// Kind implements Data.
func (ServiceScaled) Kind() Kind { return v1("service", "scaled") }
