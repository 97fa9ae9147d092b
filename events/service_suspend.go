package events

// ServiceSuspend is the command to suspend a service. The coordinator takes a snapshot where the spec asks for one, and then stops all
// instances. The slots and their volumes stay.
type ServiceSuspend struct {
	Guard
}

// Kind implements Data.
func (ServiceSuspend) Kind() Kind { return v1("service", "suspend") }

func (c ServiceSuspend) check() error { return c.Busy.check() }

func (c ServiceSuspend) normal() Command { return c }
