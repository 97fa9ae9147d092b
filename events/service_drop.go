package events

// ServiceDrop is the command to delete a service: its instances are stopped and removed. Unless busy says otherwise, it supersedes the
// commands that have not ended.
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
