package placement

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// home returns the node that the slot's next instance must use for its volumes; "" for any node. If the volumes can be filled
// again elsewhere, the slot only prefers the node that has them.
func (q *queue) home(s *projections.Service, ordinal uint32, held int32) string {
	home := s.Home(ordinal)
	if home != "" && s.Roams(ordinal) && !q.couldAtHome(home, held) {
		return ""
	}
	return home
}

// atHome decides on the node that has the volumes of a slot: that node, or none, for example if it is held from the slot.
func (q *queue) atHome(home string, held int32) Decision {
	nodes := uint32(len(q.board.nodes))
	rank, known := q.board.ranks[home]
	if !known {
		return q.pending(events.Removed{Volumes: nodes}, 0, 0)
	}
	removed := q.removedAtHome(rank, held)
	removed.Volumes = nodes - 1
	if removed != (events.Removed{Volumes: nodes - 1}) {
		return q.pending(removed, rank, rank+1)
	}
	zone := q.zone(rank)
	first := q.candidate(rank)
	first.score += q.together(zone) + q.even(zone)
	return q.chosen(contender{first, zone}, removed)
}

// removedAtHome counts the node if a filter removes it.
func (q *queue) removedAtHome(rank, held int32) events.Removed {
	var t tally
	switch met := q.met[rank]; {
	case met != none:
		t[met]++
		return t.removed(0)
	case q.barred(rank):
		return t.removed(1)
	case rank == held:
		return events.Removed{Held: 1}
	}
	return events.Removed{}
}

// couldAtHome reports whether the node that has the volumes of a slot could take its next instance.
func (q *queue) couldAtHome(home string, held int32) bool {
	rank, known := q.board.ranks[home]
	return known && q.removedAtHome(rank, held) == events.Removed{}
}
