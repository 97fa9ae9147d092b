package events

// ServiceDropped says that a service shall exist no more.
type ServiceDropped struct{}

// Kind implements Data.
func (ServiceDropped) Kind() Kind { return v1("service", "dropped") }
