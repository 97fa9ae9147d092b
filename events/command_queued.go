package events

// MaxQueued is how many commands may wait behind the one that holds a service.
const MaxQueued = 16

// CommandQueued says that an accepted command waits until those before it have ended, and what it asks for: one of the
// fields is set.
type CommandQueued struct {
	Sequence uint64 `json:"sequence"`
	// Behind is the sequence of the command that it waits for next.
	Behind   uint64           `json:"behind"`
	Ensure   *ServiceEnsure   `json:"ensure,omitempty"`
	Scale    *ServiceScale    `json:"scale,omitempty"`
	Restart  *ServiceRestart  `json:"restart,omitempty"`
	Snapshot *ServiceSnapshot `json:"snapshot,omitempty"`
	Suspend  *ServiceSuspend  `json:"suspend,omitempty"`
	Resume   *ServiceResume   `json:"resume,omitempty"`
	Rollback *ServiceRollback `json:"rollback,omitempty"`
	Drop     *ServiceDrop     `json:"drop,omitempty"`
}

// Kind implements Data.
func (CommandQueued) Kind() Kind { return v1("command", "queued") }

// Fated returns the command's sequence.
func (c CommandQueued) Fated() uint64 { return c.Sequence }

// QueuedOf returns the event for a command that can wait. It reports false for one that cannot.
func QueuedOf(sequence, behind uint64, command Command) (CommandQueued, bool) {
	q := CommandQueued{Sequence: sequence, Behind: behind}
	switch c := command.(type) {
	case ServiceEnsure:
		q.Ensure = &c
	case ServiceScale:
		q.Scale = &c
	case ServiceRestart:
		q.Restart = &c
	case ServiceSnapshot:
		q.Snapshot = &c
	case ServiceSuspend:
		q.Suspend = &c
	case ServiceResume:
		q.Resume = &c
	case ServiceRollback:
		q.Rollback = &c
	case ServiceDrop:
		q.Drop = &c
	default:
		return CommandQueued{}, false
	}
	return q, true
}

// Command returns what it asks for; nil where the event says nothing.
func (c CommandQueued) Command() Command {
	switch {
	case c.Ensure != nil:
		return *c.Ensure
	case c.Scale != nil:
		return *c.Scale
	case c.Restart != nil:
		return *c.Restart
	case c.Snapshot != nil:
		return *c.Snapshot
	case c.Suspend != nil:
		return *c.Suspend
	case c.Resume != nil:
		return *c.Resume
	case c.Rollback != nil:
		return *c.Rollback
	case c.Drop != nil:
		return *c.Drop
	}
	return nil
}
