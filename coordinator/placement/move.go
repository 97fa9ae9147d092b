package placement

import (
	"maps"
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Move is an instance that another node would suit better, and the decision for its successor there.
type Move struct {
	Instance *projections.Instance
	Decision Decision
	// Gain is how many points the other node is ahead, in thousandths.
	Gain int64
}

// misplaced is added to the gain if placement would not put the instance on its node now, so that such moves come first.
const misplaced = full

// BestMove returns the move with the largest gain within the terms, over all services that are at their target. It returns
// false if no move gains enough.
func (b *Board) BestMove(terms events.RebalanceTerms) (Move, bool) {
	best := Move{Gain: int64(terms.MinGain)*point - 1}
	for _, id := range slices.SortedFunc(maps.Keys(b.cluster.Services), events.ServiceID.Compare) {
		s := b.cluster.Services[id]
		if s.Dropped || s.Suspension != nil || s.Holder != 0 || s.Operation != nil || s.Job != nil || s.Current().Spec.Global() || !s.Settled() || s.Current().Spec.Topology != nil || s.Current().Spec.Exclusive || (s.Current().Spec.KeepsVolumes() && !terms.Volumes) {
			continue
		}
		for _, slot := range s.Slots {
			if i := slot.Current; i != nil && b.mayMoveFrom(i.Node) {
				if m := b.move(s, i); m.Decision.Node != nil && m.Gain > best.Gain {
					best = m
				}
			}
		}
	}
	return best, best.Decision.Node != nil
}

// mayMoveFrom reports whether a rebalancing may move instances of the node. A drain moves the instances of its node itself.
func (b *Board) mayMoveFrom(node string) bool {
	n := b.cluster.Nodes[node]
	return n.Live() && !n.Draining()
}

// move decides where the instance's successor would go if the instance were gone, and what that gains. Until the successor
// serves, both use resources; the instance is left out only of the zones, and of what else depends on the service's other
// instances. Instances never move to a node that is held.
func (b *Board) move(s *projections.Service, i *projections.Instance) Move {
	q := b.queue(s, s.Revision)
	rank := b.ranks[i.Node]
	gone := change{rank: rank, by: -1, service: s.ID, revision: s.Revisions[i.Revision]}
	q.take(gone)
	m := Move{Instance: i}
	first, second, removed := q.bestBut(b.held())
	if first.zone != nil && first.rank != rank {
		m.Decision = q.chosen(first, removed)
		if second.zone != nil {
			m.Decision.Choice.RunnerUp, m.Decision.Choice.RunnerUpScore = b.nodes[second.rank].Name, second.score
		}
		m.Gain = q.gain(first, rank, i)
	}
	gone.by = 1
	q.take(gone)
	return m
}

// byCount is the gain of moving an instance that requests nothing from a node with from instances, itself included, to one with
// to instances. The move back then costs as much.
func byCount(from, to int) int64 {
	return full * int64(from-1-to) / int64(max(from, to+1))
}

// gain returns how many points the contender is ahead of the instance's node, as if the instance were gone.
func (q *queue) gain(first contender, rank int32, i *projections.Instance) int64 {
	node, zone := q.board.nodes[rank], q.zone(rank)
	stays := q.scoreWithout(rank, i.Takes()) + q.together(zone) + q.even(zone)
	gain := first.score - stays
	if q.asks(node) == (events.Resources{}) {
		gain += byCount(node.Instances(), q.board.nodes[first.rank].Instances())
	}
	met := q.meets(node, q.loads[rank], creditOf(i))
	if met > notAllowed || (q.ahead(zone) && !q.policy.Spread.Soft) {
		gain = max(gain, 0) + misplaced
	}
	return gain
}
