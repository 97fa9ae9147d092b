package events

// ServiceSnapshot is the command to take a snapshot of a service: its instances run their hook, and then what their volumes with
// state hold is kept.
type ServiceSnapshot struct {
	Guard
}

// Kind implements Data.
func (ServiceSnapshot) Kind() Kind { return v1("service", "snapshot") }

func (c ServiceSnapshot) check() error { return c.Busy.check() }

func (c ServiceSnapshot) normal() Command { return c }
