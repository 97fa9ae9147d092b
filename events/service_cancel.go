package events

// ServiceCancel is the command that a service goes back to where all of it last was as it should be: to that spec, those
// images and that scale. Where it never was, it is dropped. The commands that have not ended are superseded.
type ServiceCancel struct {
	SeenAt
}

// Kind implements Data.
func (ServiceCancel) Kind() Kind { return v1("service", "cancel") }

// When implements ServiceCommand.
func (c ServiceCancel) When() Guard { return Guard{Busy: BusySupersede, SeenAt: c.SeenAt} }

func (ServiceCancel) check() error { return nil }

func (c ServiceCancel) normal() Command { return c }
