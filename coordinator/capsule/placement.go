package capsule

import (
	"fmt"

	"github.com/rookery-project/rookery/coordinator/placement"
	"github.com/rookery-project/rookery/events"
)

// placement checks the node of an instance that got one, or waits for one: the state before must lead to the same node again.
func (d *deciding) placement(r events.Record) *Difference {
	node, again := "", placement.Decision{}
	id, _ := r.Scope.Service()
	s := d.state.Cluster.Services[id]
	board := placement.NewBoard(d.state.Cluster)
	board.At(d.turn.Now)
	var ordinal uint32
	switch e := r.Data.(type) {
	case events.InstancePending:
		ordinal = e.Ordinal
		again = board.Choose(s, ordinal)
	case events.InstancePlaced:
		node, ordinal = e.Node, e.Ordinal
		if e.Replaces == 0 {
			again = board.Choose(s, ordinal)
			break
		}
		i := d.state.Cluster.Instance(events.InstanceID{Service: id, Ordinal: e.Ordinal, Generation: e.Replaces})
		if s.Operation == nil && !d.state.Cluster.Nodes[i.Node].Draining() {
			return nil // a rebalancing moves it, and compares all instances for that
		}
		again = board.ChooseBeside(s, i, e.Revision)
	default:
		return nil
	}
	d.found.Placements++
	now := ""
	if again.Node != nil {
		now = again.Node.Name
	}
	if now == node {
		return nil
	}
	return &Difference{Sequence: r.Sequence, What: fmt.Sprintf("%s/%d %s, and by the repeated decision it %s", id, ordinal, placed(node), placed(now))}
}

// placed describes for the operator where an instance is placed.
func placed(node string) string {
	if node == "" {
		return "waits, because no node can take it"
	}
	return "is placed on " + node
}
