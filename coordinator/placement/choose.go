package placement

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Decision is the node for a service's next instance, and why; or nil, and why not.
type Decision struct {
	Node     *projections.Node
	Reserved events.Resources
	Choice   *events.Choice
	// Pending says why there is no node. The caller fills in its ordinal.
	Pending *events.InstancePending
}

// Choose decides which node gets the next instance of a slot of the service.
func (b *Board) Choose(s *projections.Service, ordinal uint32) Decision {
	q := b.queue(s, s.Target(ordinal))
	held := b.heldFrom(s, ordinal)
	if home := q.home(s, ordinal, held); home != "" {
		return q.atHome(home, held)
	}
	return q.chooseApart(b.crashedOn(s, ordinal), held)
}

// choose decides among all nodes except the one that is held.
func (q *queue) choose(held int32) Decision {
	nodes := q.board.nodes
	first, second, removed := q.bestBut(held)
	if first.zone == nil {
		return q.pending(removed, 0, int32(len(nodes)))
	}
	d := q.chosen(first, removed)
	if second.zone != nil {
		d.Choice.RunnerUp, d.Choice.RunnerUpScore = nodes[second.rank].Name, second.score
	}
	return d
}

// pending returns why no node can take the instance. Only the nodes with a rank from from to below to come into question.
func (q *queue) pending(removed events.Removed, from, to int32) Decision {
	p := &events.InstancePending{
		Nodes: uint32(len(q.board.nodes)), Removed: removed, Closest: q.closest(from, to), Holds: q.toHold(from, to),
	}
	if removed.Held > 0 {
		p.HeldFor = q.board.cluster.Held().Service.ID.String()
	}
	return Decision{Pending: p}
}

func (q *queue) chosen(first contender, removed events.Removed) Decision {
	node := q.board.nodes[first.rank]
	q.board.chosen = first.rank
	choice := q.board.choice()
	choice.Nodes, choice.Removed = uint32(len(q.board.nodes)), removed
	choice.Score, choice.Terms = first.score, q.points(first.rank)
	choice.Terms.SameZone, choice.Terms.Spread = q.together(first.zone), q.even(first.zone)
	return Decision{Node: node, Reserved: q.asks(node), Choice: choice}
}

// choice returns an empty choice.
func (b *Board) choice() *events.Choice {
	const block = 32
	if len(b.choices) == 0 {
		b.choices = make([]events.Choice, block)
	}
	choice := &b.choices[0]
	b.choices = b.choices[1:]
	return choice
}

// Could reports whether any node could take the next instance of the slot.
func (b *Board) Could(s *projections.Service, ordinal uint32) bool {
	q, held := b.queue(s, s.Target(ordinal)), b.heldFrom(s, ordinal)
	if home := q.home(s, ordinal, held); home != "" {
		return q.couldAtHome(home, held)
	}
	first, _, _ := q.bestBut(held)
	return first.zone != nil
}

// Lacks describes for the operator why no node can take the slot's next instance beside the present one; "" if one can.
func (b *Board) Lacks(s *projections.Service, ordinal uint32) string {
	d := Decision{}
	if int(ordinal) < len(s.Slots) && s.Slots[ordinal].Current != nil {
		d = b.ChooseBeside(s, s.Slots[ordinal].Current, s.Revision)
	} else {
		d = b.Choose(s, ordinal)
	}
	if d.Node != nil {
		return ""
	}
	return projections.Reasons(*d.Pending)
}

// CouldInstead reports whether the node of an instance of the service could take the next instance once this one is gone.
func (b *Board) CouldInstead(s *projections.Service, gone *projections.Instance) bool {
	q := b.queue(s, s.Revision)
	rank, known := b.ranks[gone.Node]
	if home := s.Home(gone.ID.Ordinal); !known || (home != "" && home != gone.Node) {
		return false
	}
	was := q.relation(change{service: s.ID, revision: s.Revisions[gone.Revision]})
	l := q.loads[rank]
	if was.own {
		l.own--
	}
	if was.apart {
		l.apart--
	}
	return q.meets(b.nodes[rank], l, creditOf(gone)) == none && !q.aheadWithout(q.zone(rank), was)
}

// contender is a candidate with its zone. Its score includes the zone's points.
type contender struct {
	candidate
	zone *zoned
}

// best returns the best two candidates of all zones, and how many candidates are in zones that are too far ahead.
func (q *queue) best() (first, second contender, excluded uint32) {
	for i := range q.zones {
		z := &q.zones[i]
		if len(z.heap.all) == 0 {
			continue
		}
		if !q.policy.Spread.Soft && q.ahead(z) {
			excluded += uint32(len(z.heap.all))
			continue
		}
		top := z.heap.all[0]
		top.score += q.together(z) + q.even(z)
		switch {
		case first.zone == nil || top.before(first.candidate):
			first, second = contender{top, z}, first
		case second.zone == nil || top.before(second.candidate):
			second = contender{top, z}
		}
	}
	if first.zone == nil {
		return first, second, excluded
	}
	if next, ok := first.zone.heap.second(); ok { // the first's zone may have the second, too
		next.score += first.score - first.zone.heap.all[0].score
		if second.zone == nil || next.before(second.candidate) {
			second = contender{next, first.zone}
		}
	}
	return first, second, excluded
}

// closest returns the node that lacks the smallest part of the requested resources. It looks at nodes with a rank from from to
// below to that only resources remove.
func (q *queue) closest(from, to int32) *events.Shortage {
	var nearest *events.Shortage
	least := int64(0)
	for rank := from; rank < to; rank++ {
		if q.met[rank] < cpu {
			continue
		}
		node := q.board.nodes[rank]
		if part := q.lackOf(node); nearest == nil || part < least {
			nearest, least = &events.Shortage{Node: node.Name, Lacks: lacksOf(node, q.asks(node))}, part
		}
	}
	return nearest
}

// lacksOf returns the resources that the node lacks.
func lacksOf(n *projections.Node, asks events.Resources) events.Resources {
	has, taken := n.Allocatable(), n.Reserved()
	var lacks events.Resources
	if wants := taken.CPU + asks.CPU; n.Facts.Capacity.CPU > 0 && asks.CPU > 0 && wants > has.CPU {
		lacks.CPU = wants - has.CPU
	}
	if wants := taken.Memory + asks.Memory; n.Facts.Capacity.Memory > 0 && asks.Memory > 0 && wants > has.Memory {
		lacks.Memory = wants - has.Memory
	}
	if wants := taken.Disk + asks.Disk; n.Facts.Capacity.Disk > 0 && asks.Disk > 0 && wants > has.Disk {
		lacks.Disk = wants - has.Disk
	}
	return lacks
}
