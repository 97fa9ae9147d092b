package placement

import (
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// queue is how all nodes compare for one service, zone by zone.
type queue struct {
	demand
	board   *Board
	service *projections.Service
	// current says that the next instance is of the service's present revision, whose failures count. several says that the
	// service has a scale above 1. Both are as they were when the queue was built.
	current bool
	several bool
	// seen is the position in the board's journal up to which the queue is up to date.
	seen int

	met   []filter // by rank: the filter that removes the node
	loads []load   // by rank
	at    []int32  // by rank: the place in the zone's heap
	tally tally
	own   int32 // instances of the service that must run
	// zones are the present zones, or one zone of all nodes if zones do not count for the service. zoneOf is, by rank, the
	// index there.
	zones  []zoned
	zoneOf []int32
	// known remembers for revisions whether their instances matter.
	known map[*projections.Revision]relation
	// failing are the nodes on which the revision fails, by rank, and until when.
	failing map[int32]time.Time
	// leaves is the instance whose successor is decided; nil for none.
	leaves *leaves
	// least is the smallest count of a zone over which instances may be spread.
	least int32
}

// zoned is one zone. All nodes without a zone form one together, whose name is "".
type zoned struct {
	heap heap
	// open counts the nodes that no fixed filter removes: a zone without any does not count for the spread.
	open int32
	// spread counts the instances that are spread over the zones together, own those of the service.
	spread, own int32
}

// relation says how the instances of a revision matter to the service.
type relation struct{ own, apart, spread bool }

func newQueue(b *Board, s *projections.Service, revision uint64) *queue {
	n := len(b.nodes)
	q := &queue{
		demand: demandOf(s, s.Revisions[revision], &b.cluster.Policy, b.differ), board: b, service: s, current: revision == s.Revision, several: s.Scale > 1,
		seen: b.from + len(b.journal), met: make([]filter, n), loads: make([]load, n), at: make([]int32, n), known: map[*projections.Revision]relation{},
	}
	q.layZones()
	q.count()
	for name := range s.Failures {
		if rank, known := b.ranks[name]; known {
			q.fails(rank)
		}
	}
	for rank, node := range b.nodes {
		q.at[rank] = absent
		met := q.meets(node, q.loads[rank], credit{})
		q.met[rank] = met
		q.tally[met]++
		z := q.zone(int32(rank))
		if !met.fixed() {
			z.open++
		}
		if met == none {
			z.heap.all = append(z.heap.all, q.candidate(int32(rank)))
		}
	}
	for i := range q.zones {
		q.zones[i].heap.order()
	}
	q.findLeast()
	return q
}

// layZones gives every zone an empty heap with room for its nodes.
func (q *queue) layZones() {
	sizes := []int32{int32(len(q.board.nodes))}
	q.zoneOf = q.board.oneZone
	if q.spreads || q.gathers {
		sizes, q.zoneOf = q.board.sizes, q.board.zoneOf
	}
	q.zones = make([]zoned, len(sizes))
	room := make([]candidate, len(q.board.nodes))
	for i, size := range sizes {
		q.zones[i].heap = heap{all: room[:0:size], at: q.at}
		room = room[size:]
	}
}

func (q *queue) zone(rank int32) *zoned { return &q.zones[q.zoneOf[rank]] }

// fits reports whether the queue, built for this revision, still matches the service.
func (q *queue) fits(s *projections.Service, revision uint64) bool {
	return q.service == s && q.current == (revision == s.Revision) && q.several == (s.Scale > 1)
}

// count counts the instances that must run and matter to the service.
func (q *queue) count() {
	c := q.board.cluster
	if len(q.spec.AntiAffinity) == 0 && len(q.spec.Spread) == 0 {
		q.countService(q.service)
		return
	}
	for _, s := range c.Services {
		if q.concerns(s) {
			q.countService(s)
		}
	}
}

// concerns reports whether instances of the other service matter to this one.
func (q *queue) concerns(s *projections.Service) bool {
	for _, r := range s.Revisions {
		if q.relation(change{service: s.ID, revision: r}) != (relation{}) {
			return true
		}
	}
	return false
}

func (q *queue) countService(s *projections.Service) {
	for _, slot := range s.Slots {
		for _, i := range [...]*projections.Instance{slot.Current, slot.Next} {
			if i == nil {
				continue
			}
			if rank, known := q.board.ranks[i.Node]; known {
				q.counted(change{rank: rank, by: 1, service: s.ID, revision: s.Revisions[i.Revision]})
			}
		}
	}
}

// counted adds an instance to the counts, or removes it.
func (q *queue) counted(c change) {
	r := q.relation(c)
	l, z := &q.loads[c.rank], q.zone(c.rank)
	if r.own {
		l.own += c.by
		z.own += c.by
		q.own += c.by
	}
	if r.apart {
		l.apart += c.by
	}
	if r.spread {
		z.spread += c.by
	}
}

// relation returns how the instance that arrived or left matters to the service.
func (q *queue) relation(c change) relation {
	own := c.service == q.service.ID
	if len(q.spec.AntiAffinity) == 0 && len(q.spec.Spread) == 0 {
		return relation{own: own, spread: own}
	}
	if c.service.Namespace != q.service.ID.Namespace {
		return relation{}
	}
	r, known := q.known[c.revision]
	if !known {
		labels := c.revision.Spec.Labels
		r = relation{own: own, apart: q.apart(labels), spread: own}
		if len(q.spec.Spread) > 0 {
			r.spread = events.MatchAll(q.spec.Spread, labels)
		}
		q.known[c.revision] = r
	}
	return r
}

// take updates the queue for what happened to a node.
func (q *queue) take(c change) {
	z := q.zone(c.rank)
	before := z.spread
	if c.by != 0 {
		q.counted(c)
	}
	opened := z.open
	q.look(c.rank)
	if q.spreads && (z.spread != before || z.open != opened) {
		q.shifted(z, before, opened)
	}
}

// fails finds out whether the revision fails on the node now.
func (q *queue) fails(rank int32) {
	if len(q.service.Failures)+len(q.failing) == 0 || !q.current {
		return
	}
	until := q.service.FailingUntil(q.board.nodes[rank].Name)
	if !q.board.now.Before(until) {
		delete(q.failing, rank)
		return
	}
	if q.failing == nil {
		q.failing = map[int32]time.Time{}
	}
	q.failing[rank] = until
}

// pass forgets failures that are too long ago by now.
func (q *queue) pass() {
	for rank, until := range q.failing {
		if !q.board.now.Before(until) {
			q.look(rank)
		}
	}
}

// look compares one node again.
func (q *queue) look(rank int32) {
	q.fails(rank)
	node, z := q.board.nodes[rank], q.zone(rank)
	before, now := q.met[rank], q.meets(node, q.loads[rank], credit{})
	q.tally[before]--
	q.tally[now]++
	q.met[rank] = now
	if !before.fixed() {
		z.open--
	}
	if !now.fixed() {
		z.open++
	}
	if now == none {
		z.heap.put(q.candidate(rank))
	} else {
		z.heap.remove(rank)
	}
}

func (q *queue) candidate(rank int32) candidate {
	instances := int32(q.board.nodes[rank].Instances())
	if q.leaves != nil && q.leaves.rank == rank {
		instances--
	}
	return candidate{score: q.scoreWithout(rank, q.credit(rank)), instances: instances, rank: rank}
}
