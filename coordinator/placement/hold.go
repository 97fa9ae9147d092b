package placement

import (
	"cmp"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// held returns the rank of the node that is held for a service, or absent.
func (b *Board) held() int32 {
	node := b.cluster.Held().Node
	if node == "" {
		return absent
	}
	if rank, known := b.ranks[node]; known {
		return rank
	}
	return absent
}

// heldFrom returns the rank of the node that is held for a service which has waited longer than the slot's, or absent. An
// instance that replaces a former one may use a held node: a hold must not harm running services.
func (b *Board) heldFrom(s *projections.Service, ordinal uint32) int32 {
	holder := b.cluster.Held().Service
	if holder == nil || holder == s || !s.Fresh(ordinal) || b.before(s, holder) {
		return absent
	}
	return b.held()
}

// before reports whether a service began to wait for a node before another one did; of two at once, the first by name.
func (b *Board) before(s, other *projections.Service) bool {
	return cmp.Or(b.since(s).Compare(b.since(other)), s.ID.Compare(other.ID)) < 0
}

// since returns when the service began to wait; now if it does not wait yet.
func (b *Board) since(s *projections.Service) time.Time {
	if s.WaitsSince.IsZero() {
		return b.now
	}
	return s.WaitsSince
}

// bestBut is best without a node that is held from the slot, and returns what removes the others. The rank is absent if no node
// is held.
func (q *queue) bestBut(held int32) (first, second contender, removed events.Removed) {
	keeps := held != absent && q.could(held)
	if keeps {
		q.zone(held).heap.remove(held)
	}
	first, second, excluded := q.best()
	removed = q.tally.removed(excluded)
	if keeps {
		q.zone(held).heap.put(q.candidate(held))
		removed.Held = 1
	}
	return first, second, removed
}

// could reports whether the node could take the service's next instance, unless a hold prevents it.
func (q *queue) could(rank int32) bool { return q.met[rank] == none && !q.barred(rank) }

// barred reports whether the node's zone is too far ahead for the service.
func (q *queue) barred(rank int32) bool {
	return !q.policy.Spread.Soft && q.ahead(q.zone(rank))
}

// toHold returns the node to hold for the service's next instance. It looks at nodes with a rank from from to below to. It
// returns "" if another service has waited longer, or if no node could ever take the instance. It chooses the node that lacks
// least. A held node stays held until another lacks less than half as much, since its lack shrinks with time alone, and would
// grow again elsewhere.
func (q *queue) toHold(from, to int32) string {
	now, held := q.board.cluster.Held(), int32(absent)
	switch {
	case now.Service == q.service:
		held = q.board.held()
	case now.Service != nil && !q.board.before(q.service, now.Service):
		return ""
	}
	nearest, least, lacks := int32(absent), int64(0), int64(0)
	for rank := from; rank < to; rank++ {
		if !q.wouldHave(rank) {
			continue
		}
		part := q.lackOf(q.board.nodes[rank])
		if nearest == absent || part < least {
			nearest, least = rank, part
		}
		if rank == held {
			lacks = part
		}
	}
	switch {
	case nearest == absent:
		return ""
	case held >= from && held < to && q.wouldHave(held) && 2*least >= lacks:
		nearest = held
	}
	return q.board.nodes[nearest].Name
}

// wouldHave reports whether the node could take the service's next instance if only the service's own instances were left there,
// and only lacks resources now. Those never make room for the next one, so a hold that counts on them would not end.
func (q *queue) wouldHave(rank int32) bool {
	node := q.board.nodes[rank]
	own := q.asks(node).Times(uint64(q.loads[rank].own))
	return q.met[rank] >= cpu && !q.barred(rank) && q.demand.fits(node, own) == none
}

// lackOf returns the sum of the parts of the requested resources that the node lacks.
func (q *queue) lackOf(n *projections.Node) int64 {
	asks := q.asks(n)
	lacks := lacksOf(n, asks)
	return part(uint64(lacks.CPU), uint64(asks.CPU)) +
		part(uint64(lacks.Memory)>>sharedBits, uint64(asks.Memory)>>sharedBits) +
		part(uint64(lacks.Disk)>>sharedBits, uint64(asks.Disk)>>sharedBits)
}
