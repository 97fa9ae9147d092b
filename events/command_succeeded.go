package events

// CommandSucceeded ends an accepted command that has reached its target.
type CommandSucceeded struct {
	Sequence uint64 `json:"sequence"`
}

// Kind implements Data.
func (CommandSucceeded) Kind() Kind { return v1("command", "succeeded") }

// CommandSequence returns the command's sequence.
func (c CommandSucceeded) CommandSequence() uint64 { return c.Sequence }
