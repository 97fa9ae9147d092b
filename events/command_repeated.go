package events

// CommandRepeated says that a command came again, with the same id and body: it has the effect and the outcome of the first.
type CommandRepeated struct {
	// Sequence is the repeat's place in ROOKERY_COMMANDS.
	Sequence uint64 `json:"sequence"`
	// Of is the first one's.
	Of uint64 `json:"of"`
}

// Kind implements Data.
func (CommandRepeated) Kind() Kind { return v1("command", "repeated") }

// CommandSequence returns the command's sequence.
func (c CommandRepeated) CommandSequence() uint64 { return c.Sequence }
