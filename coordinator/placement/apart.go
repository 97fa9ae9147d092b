package placement

import (
	"slices"

	"github.com/rookery-project/rookery/projections"
)

// crashedOn returns the rank of the node that the slot's next instance should not be on, because the one before used up its restarts
// there; absent for none.
func (b *Board) crashedOn(s *projections.Service, ordinal uint32) int32 {
	node := s.CrashedOn(ordinal)
	if node == "" {
		return absent
	}
	if rank, known := b.ranks[node]; known {
		return rank
	}
	return absent
}

// chooseApart is choose without one more node, where another can have the instance; of a rank that is absent it is choose.
func (q *queue) chooseApart(apart, held int32) Decision {
	if apart == absent || apart == held || !q.could(apart) {
		return q.choose(held)
	}
	q.zone(apart).heap.remove(apart)
	d := q.choose(held)
	q.zone(apart).heap.put(q.candidate(apart))
	if d.Node == nil {
		return q.choose(held)
	}
	d.Choice.Removed.Crashed = 1
	return d
}

// putApart takes the verdict of a node from those of the nodes that could have an instance to the others, where another one could.
func putApart(node string, could, others []Verdict) (left, removed []Verdict) {
	at := slices.IndexFunc(could, func(v Verdict) bool { return v.Node == node })
	if at < 0 || len(could) == 1 {
		return could, others
	}
	return slices.Delete(could, at, at+1), append(others, Verdict{Node: node, Removed: crashedName})
}
