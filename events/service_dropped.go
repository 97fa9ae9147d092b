package events

// ServiceDropped says that a service is to be deleted: its instances stop, and the service is removed after them.
type ServiceDropped struct{}

// Kind implements Data.
func (ServiceDropped) Kind() Kind { return v1("service", "dropped") }
