package events

// ServicePromote is the command to continue an update after its canaries. It waits for no other command: the command that began the update
// has not ended.
type ServicePromote struct {
	SeenAt
}

// Kind implements Data.
func (ServicePromote) Kind() Kind { return v1("service", "promote") }

// When implements ServiceCommand.
func (c ServicePromote) When() Guard { return Guard{SeenAt: c.SeenAt} }

func (ServicePromote) check() error { return nil }

func (c ServicePromote) normal() Command { return c }
