package events

// Heartbeat is a node's question whether it is still the node of that name, and its sign of life.
type Heartbeat struct {
	Incarnation string `json:"incarnation"`
}

// Kind implements Data.
func (Heartbeat) Kind() Kind { return v1("heartbeat", "beat") }

// HeartbeatAnswer is the leader's answer.
type HeartbeatAnswer struct {
	// Log is the identity of the log that the leader follows.
	Log string `json:"log"`
	// Epoch is the node epoch of the incarnation that asked; 0 where the log does not know it yet.
	Epoch uint64 `json:"epoch"`
	// Superseded says that a later process is the node now: this one must stop acting.
	Superseded bool `json:"superseded,omitzero"`
	// Machine is the first node epoch since which the machine of this process is the node: what was ordered in an earlier one may be on
	// another. 0 where machines are not told apart.
	Machine uint64 `json:"machine,omitzero"`
	// Orders is the counter of the latest order for the node.
	Orders uint64 `json:"orders"`
	// Degraded says that the log has the node as degraded: one that knows better says so again.
	Degraded bool `json:"degraded,omitzero"`
	// List asks for the node's full list. It is a number that climbs: a node lists once for each.
	List uint64 `json:"list"`
	// Level is that of the cluster. A node that does not work at it must not act.
	Level Level `json:"level,omitzero"`
}

// Kind implements Data.
func (HeartbeatAnswer) Kind() Kind { return v1("heartbeat", "answer") }
