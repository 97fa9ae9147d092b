package capsule

import (
	"fmt"

	"github.com/rookery-project/rookery/coordinator/placement"
	"github.com/rookery-project/rookery/events"
)

// placement holds the node of an instance that got one, or waits for one, to be what is decided in the state before it.
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
			return nil // a rebalancing moves it, which compares all instances
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
	return &Difference{Sequence: r.Sequence, What: fmt.Sprintf("%s/%d %s, and decided once more it %s", id, ordinal, placed(node), placed(now))}
}

// placed says for people where an instance is placed.
func placed(node string) string {
	if node == "" {
		return "waits, as no node can have it"
	}
	return "is placed on " + node
}
