package placement

import "github.com/rookery-project/rookery/events"

// atHome decides on the node that has the volumes of a slot: it is that one or none.
func (q *queue) atHome(home string) Decision {
	nodes := uint32(len(q.board.nodes))
	rank, known := q.board.ranks[home]
	if !known {
		return q.pending(events.Removed{Volumes: nodes}, nil)
	}
	removed := q.removedAtHome(rank)
	removed.Volumes = nodes - 1
	if removed != (events.Removed{Volumes: nodes - 1}) {
		return q.pending(removed, q.closest(rank, rank+1))
	}
	zone := q.zone(rank)
	first := q.candidate(rank)
	first.score += q.together(zone) + q.even(zone)
	return q.chosen(contender{first, zone}, removed)
}

// removedAtHome counts the node where a filter removes it.
func (q *queue) removedAtHome(rank int32) events.Removed {
	var t tally
	if met := q.met[rank]; met != none {
		t[met]++
		return t.removed(0)
	}
	if !q.policy.Spread.Soft && q.ahead(q.zone(rank)) {
		return t.removed(1)
	}
	return events.Removed{}
}

// couldAtHome reports whether the node that has the volumes of a slot could have its next instance.
func (q *queue) couldAtHome(home string) bool {
	rank, known := q.board.ranks[home]
	return known && q.removedAtHome(rank) == events.Removed{}
}
