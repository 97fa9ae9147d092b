package events

// ServiceRestart is the command that every instance of a service is replaced by one of the same spec and images, as by a new revision. A
// job begins again.
type ServiceRestart struct {
	Guard
}

// Kind implements Data.
func (ServiceRestart) Kind() Kind { return v1("service", "restart") }

func (c ServiceRestart) check() error { return c.Busy.check() }

func (c ServiceRestart) normal() Command { return c }
