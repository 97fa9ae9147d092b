package events

// ServiceSuspended says that a service shall rest, without an instance, until it is resumed.
type ServiceSuspended struct{}

// Kind implements Data.
func (ServiceSuspended) Kind() Kind { return v1("service", "suspended") }
