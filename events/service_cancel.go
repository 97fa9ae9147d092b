package events

// ServiceCancel is the command to return a service to its last healthy state: to that spec, those images and that scale. It drops a service
// that was never healthy. The commands that have not ended are superseded.
type ServiceCancel struct {
	SeenAt
}

// Kind implements Data.
func (ServiceCancel) Kind() Kind { return v1("service", "cancel") }

// When implements ServiceCommand.
func (c ServiceCancel) When() Guard { return Guard{Busy: BusySupersede, SeenAt: c.SeenAt} }

func (ServiceCancel) check() error { return nil }

func (c ServiceCancel) normal() Command { return c }
