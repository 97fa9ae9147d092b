package projections

// NodeState is what a node is, for placement and for operators: the first that fits.
type NodeState string

// The states of a node.
const (
	NodeForgotten  NodeState = "forgotten"   // it is forgotten as soon as nothing of it is left in the state
	NodeAway       NodeState = "away"        // it was drained of all that it had, and is not heard since: nobody misses it
	NodeLost       NodeState = "lost"        // it was silent for so long that its instances are replaced
	NodeSilent     NodeState = "silent"      // it is not heard
	NodeDegraded   NodeState = "degraded"    // its engine does not answer
	NodeDrained    NodeState = "drained"     // it was drained of all that it had
	NodeDraining   NodeState = "draining"    // what it has goes elsewhere
	NodePaused     NodeState = "paused"      // it takes no more instances
	NodeNotAllowed NodeState = "not-allowed" // the cluster's list of nodes does not have it
	NodeReady      NodeState = "ready"       // it takes instances
)

// NodeStates are all of them.
var NodeStates = []NodeState{
	NodeForgotten, NodeAway, NodeLost, NodeSilent, NodeDegraded, NodeDrained, NodeDraining, NodePaused, NodeNotAllowed, NodeReady,
}

// State returns the node's state.
func (n *Node) State() NodeState {
	switch done := n.Draining() && n.Drain.Done; {
	case n.Forgotten:
		return NodeForgotten
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
