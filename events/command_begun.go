package events

// CommandBegun says that a command which was queued is being carried out: its deadline counts from here on.
type CommandBegun struct {
	Sequence uint64 `json:"sequence"`
}

// Kind implements Data.
func (CommandBegun) Kind() Kind { return v1("command", "begun") }

// CommandSequence returns the command's sequence.
func (c CommandBegun) CommandSequence() uint64 { return c.Sequence }
