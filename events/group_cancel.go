package events

// GroupCancel is the command that a group which has not ended is aborted: its services go back to what they were before it.
type GroupCancel struct{}

// Kind implements Data.
func (GroupCancel) Kind() Kind { return v1("group", "cancel") }

func (GroupCancel) check() error { return nil }

func (c GroupCancel) normal() Command { return c }
