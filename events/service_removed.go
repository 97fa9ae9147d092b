package events

// ServiceRemoved says that the last instance of a dropped service is gone. The name is free again.
type ServiceRemoved struct{}

// Kind implements Data.
func (ServiceRemoved) Kind() Kind { return v1("service", "removed") }
