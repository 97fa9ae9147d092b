package events

// CommandRejected says that a command has no effect, and why. It is the command's only outcome.
type CommandRejected struct {
	CommandIdentity
	Rejection
	// Holder is the sequence of the command that the service is busy with, where Code is CodeBusy.
	Holder uint64 `json:"holder,omitzero"`
}

// Kind implements Data.
func (CommandRejected) Kind() Kind { return v1("command", "rejected") }
