package placement

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// leaves is an instance of the service that stops once its successor serves, with the rank of its node.
type leaves struct {
	rank     int32
	reserved events.Resources
}

// ChooseBeside decides which node gets the successor, of this revision, of an instance that runs until the successor serves.
// The node must have room for both. Points and the spread over zones count as if the instance were gone.
func (b *Board) ChooseBeside(s *projections.Service, i *projections.Instance, revision uint64) Decision {
	q := b.queue(s, revision)
	var d Decision
	q.without(i, func() { d = q.choose(b.heldFrom(s, i.ID.Ordinal)) })
	return d
}

// VerdictsBeside is Verdicts for the successor, of this revision, of an instance that runs until the successor serves.
func (b *Board) VerdictsBeside(s *projections.Service, i *projections.Instance, revision uint64) []Verdict {
	q := b.queue(s, revision)
	var verdicts []Verdict
	q.without(i, func() { verdicts = q.verdicts("", b.heldFrom(s, i.ID.Ordinal), "") })
	return verdicts
}

// without calls decide as if the instance counted neither in its zone nor for its node's points.
func (q *queue) without(i *projections.Instance, decide func()) {
	rank, known := q.board.ranks[i.Node]
	if !known {
		decide()
		return
	}
	q.leaves = &leaves{rank, i.Takes()}
	q.shift(rank, i, -1)
	decide()
	q.leaves = nil
	q.shift(rank, i, 1)
}

// shift removes the instance from its zone's counts, or adds it again, and puts its node at its new place in the heap.
func (q *queue) shift(rank int32, i *projections.Instance, by int32) {
	z, r := q.zone(rank), q.relation(change{service: q.service.ID, revision: q.service.Revisions[i.Revision]})
	before := z.spread
	if r.own {
		z.own += by
		q.own += by
	}
	if r.spread {
		z.spread += by
	}
	if q.met[rank] == none {
		z.heap.put(q.candidate(rank))
	}
	if q.spreads && z.spread != before {
		q.shifted(z, before, z.open)
	}
}
