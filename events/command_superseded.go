package events

// CommandSuperseded ends an accepted command that a later one replaces.
type CommandSuperseded struct {
	Sequence uint64 `json:"sequence"`
	// By is the sequence of the later command.
	By uint64 `json:"by"`
}

// Kind implements Data.
func (CommandSuperseded) Kind() Kind { return v1("command", "superseded") }

// CommandSequence returns the command's sequence.
func (c CommandSuperseded) CommandSequence() uint64 { return c.Sequence }
