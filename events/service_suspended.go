package events

// ServiceSuspended says that a service is suspended: it has no instance until it is resumed.
type ServiceSuspended struct{}

// Kind implements Data.
func (ServiceSuspended) Kind() Kind { return v1("service", "suspended") }
