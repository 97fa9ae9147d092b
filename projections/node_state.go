package projections

// NodeState is the state of a node, for placement and for operators. The first state that fits counts.
type NodeState string

// The states of a node.
const (
	NodeForgotten  NodeState = "forgotten"   // an operator has forgotten it; it disappears with its last instance
	NodeRevoked    NodeState = "revoked"     // an operator has cut it off; its instances count as lost
	NodeAway       NodeState = "away"        // it is drained and silent: none of its instances is missing
	NodeLost       NodeState = "lost"        // it was silent for so long that the coordinator replaces its instances
	NodeSilent     NodeState = "silent"      // it sends no heartbeats
	NodeDegraded   NodeState = "degraded"    // its engine does not answer
	NodeDrained    NodeState = "drained"     // its drain is over, and it has no instance
	NodeDraining   NodeState = "draining"    // its instances move to other nodes
	NodePaused     NodeState = "paused"      // it takes no new instances
	NodeNotAllowed NodeState = "not-allowed" // it is not on the cluster's list of allowed nodes
	NodeReady      NodeState = "ready"       // it takes instances
)

// NodeStates are all states of a node, in the order in which State checks them.
var NodeStates = []NodeState{
	NodeForgotten, NodeRevoked, NodeAway, NodeLost, NodeSilent, NodeDegraded, NodeDrained, NodeDraining, NodePaused, NodeNotAllowed, NodeReady,
}

// State returns the node's state.
func (n *Node) State() NodeState {
	switch done := n.Draining() && n.Drain.Done; {
	case n.Forgotten:
		return NodeForgotten
	case n.Revoked:
		return NodeRevoked
	case n.Silent && done:
		return NodeAway
	case n.Lost:
		return NodeLost
	case n.Silent:
		return NodeSilent
	case n.Degraded != "":
		return NodeDegraded
	case done:
		return NodeDrained
	case n.Draining():
		return NodeDraining
	case n.Paused:
		return NodePaused
	case n.NotAllowed:
		return NodeNotAllowed
	}
	return NodeReady
}
