package events

// NodeReturned says that a silent node is heard again.
type NodeReturned struct{}

// Kind implements Data.
func (NodeReturned) Kind() Kind { return v1("node", "returned") }
