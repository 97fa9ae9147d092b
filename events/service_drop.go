package events

// ServiceDrop is the command that a service exists no more: its instances are stopped and removed. It supersedes an
// earlier command that has not ended.
type ServiceDrop struct{}

// Kind implements Data.
func (ServiceDrop) Kind() Kind { return v1("service", "drop") }

func (ServiceDrop) check() error { return nil }

func (c ServiceDrop) normal() Command { return c }
