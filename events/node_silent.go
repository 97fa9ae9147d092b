package events

// NodeSilent says that a node has not been heard for longer than it may. Nothing new is placed on it, and what it has may run on.
type NodeSilent struct{}

// Kind implements Data.
func (NodeSilent) Kind() Kind { return v1("node", "silent") }
