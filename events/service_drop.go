package events

// ServiceDrop is the command that a service exists no more: its instances are stopped and removed. Unless busy says
// something else it supersedes the commands that have not ended.
type ServiceDrop struct {
	Guard
}

// Kind implements Data.
func (ServiceDrop) Kind() Kind { return v1("service", "drop") }

func (c ServiceDrop) check() error { return c.Busy.check() }

func (c ServiceDrop) normal() Command {
	if c.Busy == "" {
		c.Busy = BusySupersede
	}
	return c
}
