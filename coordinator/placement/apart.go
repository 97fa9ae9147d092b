package placement

import (
	"slices"

	"github.com/rookery-project/rookery/projections"
)

// crashedOn returns the rank of the node on which the slot's last instance used up its restarts, so that the next one avoids
// it. It returns absent if there is none.
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

// chooseApart is choose without one more node, if another node can take the instance. If the rank is absent, it is choose.
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

// putApart moves the verdict of a node from the nodes that could take an instance to the others, if another node could take it.
func putApart(node string, could, others []Verdict) (left, removed []Verdict) {
	at := slices.IndexFunc(could, func(v Verdict) bool { return v.Node == node })
	if at < 0 || len(could) == 1 {
		return could, others
	}
	return slices.Delete(could, at, at+1), append(others, Verdict{Node: node, Removed: crashedName})
}
