package events

// NodeLost says that a node has been silent for longer than the cluster waits: it is taken for one that may never return.
type NodeLost struct{}

// Kind implements Data.
func (NodeLost) Kind() Kind { return v1("node", "lost") }
