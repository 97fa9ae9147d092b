package events

// NodeReturned says that a silent node sends heartbeats again.
type NodeReturned struct{}

// Kind implements Data.
func (NodeReturned) Kind() Kind { return v1("node", "returned") }
