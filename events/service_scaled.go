package events

// ServiceScaled says how many instances a service shall have.
type ServiceScaled struct {
	Scale uint32 `json:"scale"`
}

// Kind implements Data.
func (ServiceScaled) Kind() Kind { return v1("service", "scaled") }
