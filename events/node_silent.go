package events

// NodeSilent says that a node has sent no heartbeat for longer than it may. The coordinator places no further instances on it; those that
// it has may still run.
type NodeSilent struct{}

// Kind implements Data.
func (NodeSilent) Kind() Kind { return v1("node", "silent") }
