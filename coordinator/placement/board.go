package placement

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Board is a cache of how the nodes compare for the services that were asked about last. It is not stored with the state, and
// its answers do not depend on what it remembers.
type Board struct {
	cluster *projections.Cluster
	// nodes are all nodes by name; the rank of a node is its index.
	nodes []*projections.Node
	ranks map[string]int32
	// zoneOf is, by rank, the index of the node's zone among all zones, ordered by name, and sizes counts the nodes of each.
	// oneZone is zoneOf as if there were one zone.
	zoneOf, oneZone []int32
	sizes           []int32
	// differ says that at least one node has its own defaults.
	differ bool
	// chosen is the rank that was chosen last, which the next lookup probably asks for.
	chosen int32
	// choices are allocated in blocks: they become garbage together, with their round.
	choices []events.Choice
	// journal is what happened to nodes since position from, for queues that are behind.
	journal []change
	from    int
	queues  map[queued]*queue
	// recent are the keys of the queues; the one that was asked about last is at the end.
	recent []queued
	// stale says that nodes joined or changed, or that instances were lost with their nodes.
	stale bool
	// now is the time of the present round.
	now time.Time
}

// change is what happened to a node: an instance of the service arrived, an instance must no longer run, or something else. It
// keeps the revision itself, since the number may mean another revision once the service was removed and created again.
type change struct {
	rank     int32
	by       int32
	service  events.ServiceID
	revision *projections.Revision
}

// queued is what a queue is for: the next instance of a service in one of its revisions.
type queued struct {
	service  events.ServiceID
	revision uint64
}

// maxQueues is how many services the board remembers.
const maxQueues = 64

// maxJournal is the most that the journal holds. A queue that is further behind than there are nodes is built again.
const maxJournal = 1 << 14

// NewBoard returns the board of a cluster. The caller must Note every record that it applies to the cluster afterwards.
func NewBoard(c *projections.Cluster) *Board {
	return &Board{cluster: c, stale: true}
}

// At sets the time of the decisions that follow; it must not be before the last one.
func (b *Board) At(now time.Time) { b.now = now }

// refresh starts again with the present nodes.
func (b *Board) refresh() {
	b.stale = false
	b.nodes = slices.AppendSeq(make([]*projections.Node, 0, len(b.cluster.Nodes)), maps.Values(b.cluster.Nodes))
	slices.SortFunc(b.nodes, func(x, y *projections.Node) int { return strings.Compare(x.Name, y.Name) })
	b.ranks, b.differ = make(map[string]int32, len(b.nodes)), false
	for rank, node := range b.nodes {
		b.ranks[node.Name] = int32(rank)
		b.differ = b.differ || node.Facts.Default != events.Resources{}
	}
	b.layZones()
	b.journal, b.from = make([]change, 0, min(2*len(b.nodes), maxJournal)), 0
	b.queues, b.recent = map[queued]*queue{}, nil
}

// layZones finds the present zones.
func (b *Board) layZones() {
	places := map[string]int32{}
	for _, n := range b.nodes {
		places[n.Facts.Zone] = 0
	}
	for i, name := range slices.Sorted(maps.Keys(places)) {
		places[name] = int32(i)
	}
	b.zoneOf, b.oneZone = make([]int32, len(b.nodes)), make([]int32, len(b.nodes))
	b.sizes = make([]int32, len(places))
	for rank, n := range b.nodes {
		place := places[n.Facts.Zone]
		b.zoneOf[rank] = place
		b.sizes[place]++
	}
}

// Note updates the board for a record that was just applied to the cluster.
func (b *Board) Note(r events.Record) {
	switch d := r.Data.(type) {
	case events.InstancePlaced:
		b.came(r.Scope, d)
	case events.InstanceAdopted:
		b.came(r.Scope, d.InstancePlaced)
	case events.InstanceRetired:
		b.retired(r.Scope, d)
	case events.InstanceRemoved:
		b.changed(d.Node)
	case events.InstanceForgotten:
		b.stale = true
	case events.InstanceOffline:
		b.changed(d.Node)
	case events.InstanceCompleted, events.InstanceStopped:
		b.changed(d.(events.Sighting).Seen().Node)
	case events.InstancePrepared, events.InstanceStarted, events.InstanceOnline:
		if seen := d.(events.Sighting).Seen(); seen.Attempt > 0 { // it may have been offline before
			b.changed(seen.Node)
		}
	case events.NodeJoined, events.NodeSilent, events.NodeReturned, events.NodePaused, events.NodeResumed,
		events.NodeDraining, events.NodeDegraded, events.NodeRecovered:
		name, _ := r.Scope.Node()
		b.nodeChanged(name, d)
	case events.PolicyChanged, events.NodesAllowed, events.ClusterLevel, events.NodeUpdated, events.NodeRemoved, events.NodeRevoked, events.InstanceLost, events.InstanceReturned:
		b.stale = true
	}
}

func (b *Board) came(scope events.Scope, d events.InstancePlaced) {
	id, _ := scope.Service()
	if rank, known := b.rank(d.Node); known {
		b.note(change{rank: rank, by: 1, service: id, revision: b.revision(id, d.Revision)})
		return
	}
	b.stale = true
}

func (b *Board) retired(scope events.Scope, d events.InstanceRetired) {
	id, _ := scope.Service()
	i := b.cluster.Instance(events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation})
	if i == nil {
		return
	}
	if i.Lost { // it may have been disconnected, and so no longer counted
		b.stale = true
		return
	}
	if rank, known := b.ranks[i.Node]; known {
		b.note(change{rank: rank, by: -1, service: id, revision: b.revision(id, i.Revision)})
	}
}

// rank returns the rank of the node of that name, if there is one.
func (b *Board) rank(name string) (int32, bool) {
	if int(b.chosen) < len(b.nodes) && b.nodes[b.chosen].Name == name {
		return b.chosen, true
	}
	rank, known := b.ranks[name]
	return rank, known
}

// revision returns the revision of an existing instance.
func (b *Board) revision(id events.ServiceID, number uint64) *projections.Revision {
	return b.cluster.Service(id).Revisions[number]
}

func (b *Board) changed(node string) {
	if rank, known := b.ranks[node]; known {
		b.note(change{rank: rank})
		return
	}
	b.stale = true
}

// nodeChanged updates the board for an event of the node. A node that joins may be new, or in another zone than before.
func (b *Board) nodeChanged(name string, d events.Data) {
	if _, joined := d.(events.NodeJoined); joined {
		b.stale = true
		return
	}
	b.changed(name)
}

func (b *Board) note(c change) {
	if b.stale || len(b.queues) == 0 {
		return
	}
	if len(b.journal) == cap(b.journal) {
		half := (len(b.journal) + 1) / 2
		b.journal = append(b.journal[:0], b.journal[half:]...)
		b.from += half
	}
	b.journal = append(b.journal, c)
}

// queue returns the comparison of nodes for the service's revision, up to date.
func (b *Board) queue(s *projections.Service, revision uint64) *queue {
	if b.stale {
		b.refresh()
	}
	of := queued{s.ID, revision}
	q := b.queues[of]
	if q == nil || !q.fits(s, revision) || q.seen < b.from || b.from+len(b.journal)-q.seen > len(b.nodes) {
		q = newQueue(b, s, revision)
		b.queues[of] = q
	}
	b.touch(of)
	for q.seen < b.from+len(b.journal) {
		q.take(b.journal[q.seen-b.from])
		q.seen++
	}
	q.pass()
	return q
}

// touch marks the queue as the most recently used, and drops the least recently used one if there are too many.
func (b *Board) touch(of queued) {
	if n := len(b.recent); n > 0 && b.recent[n-1] == of {
		return
	}
	b.recent = append(slices.DeleteFunc(b.recent, func(o queued) bool { return o == of }), of)
	if len(b.recent) > maxQueues {
		delete(b.queues, b.recent[0])
		b.recent = slices.Delete(b.recent, 0, 1)
	}
}
