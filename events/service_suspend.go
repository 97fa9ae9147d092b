package events

// ServiceSuspend is the command to have a service rest: a snapshot of it is taken where its spec says what one holds, and then all
// its instances go. Its slots and their volumes stay.
type ServiceSuspend struct {
	Guard
}

// Kind implements Data.
func (ServiceSuspend) Kind() Kind { return v1("service", "suspend") }

func (c ServiceSuspend) check() error { return c.Busy.check() }

func (c ServiceSuspend) normal() Command { return c }
