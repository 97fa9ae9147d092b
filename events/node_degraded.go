package events

// NodeDegraded says that the engine of a node does not answer, although the node sends heartbeats. The coordinator places no further
// instances on the node; those that it has keep running.
type NodeDegraded struct {
	// Epoch and Counter are those of the node's report: earlier reports no longer count.
	Epoch   uint64 `json:"epoch"`
	Counter uint64 `json:"counter"`
	// Message is a text that says what is wrong.
	Message string `json:"message"`
}

// NodeRecovered says that the engine of a degraded node answers again.
type NodeRecovered struct {
	Epoch   uint64 `json:"epoch"`
	Counter uint64 `json:"counter"`
}

// Kind implements Data.
func (NodeDegraded) Kind() Kind { return v1("node", "degraded") }

// Kind implements Data.
func (NodeRecovered) Kind() Kind { return v1("node", "recovered") }
