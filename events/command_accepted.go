package events

// CommandIdentity is how the log remembers a command, so that a repeat is known for as long as ROOKERY_COMMANDS keeps it.
type CommandIdentity struct {
	// Sequence is the command's place in ROOKERY_COMMANDS: what the sender's acknowledgement gave.
	Sequence uint64 `json:"sequence"`
	Verb     string `json:"verb,omitempty"`
	// ID and Source are those of the CloudEvent; empty for a bare command.
	ID     string `json:"id,omitempty"`
	Source string `json:"source,omitempty"`
	// Digest is the hash of subject, type and data.
	Digest string `json:"digest,omitempty"`
}

// CommandSequence returns the command's sequence.
func (i CommandIdentity) CommandSequence() uint64 { return i.Sequence }

// Outcome is an event that says what became of a command.
type Outcome interface {
	Data
	// CommandSequence returns the command's sequence in ROOKERY_COMMANDS.
	CommandSequence() uint64
}

// CommandAccepted says that a command is understood, possible and now desired.
type CommandAccepted struct {
	CommandIdentity
	// Unchanged says that all it asks for was desired before.
	Unchanged bool `json:"unchanged,omitzero"`
	// Queued says that it waits until the commands before it have ended.
	Queued bool `json:"queued,omitzero"`
}

// Kind implements Data.
func (CommandAccepted) Kind() Kind { return v1("command", "accepted") }
