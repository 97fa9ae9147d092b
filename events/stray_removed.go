package events

// StrayRemoved says that an orphan is gone from its node.
type StrayRemoved struct{ StrayFound }

// Kind implements Data.
func (StrayRemoved) Kind() Kind { return v1("stray", "removed") }
