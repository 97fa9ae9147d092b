package world

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// knowledge is what follows from the log, as far as the promises speak of it.
type knowledge struct {
	commands  map[uint64]*fate
	open      map[uint64]*fate  // those that were accepted and have not ended
	accepted  map[string]uint64 // by source and id
	services  map[events.ServiceID]*service
	instances map[events.InstanceID]*instance
	// present are those that are not removed, in order.
	present []*instance
	nodes   map[string]*machine
	floor   uint64 // the greatest epoch of nodes that were forgotten
	policy  events.Policy
	// parted says that so many nodes are silent that nothing is lost, and whole is since when that is no more so.
	parted  bool
	whole   time.Time
	allowed []string // nodes; any where there are none
	// moves is the rebalancing that is under way, nil where none is.
	moves *moves
	// kept is the node that is held for a service, and wrong what was closed since it is not as it should be.
	kept hold
	// leaves is the instance whose successor is judged: the zones are counted without it. nil for none.
	leaves *instance
	wrong  late
	at     time.Time // of the event that is taken
	// asked is what the last command of the round that is judged wants of each service.
	asked map[events.ServiceID]asked
	// groups are the services that change together, by their command.
	groups map[uint64]*group
	// back is what services are to be that their groups have let go in the round, and broke those whose operations have failed in it.
	back  map[events.ServiceID]*was
	broke map[events.ServiceID]bool
}

// late counts the rounds of a leader's epoch in which something was left undone, from the first.
type late struct {
	epoch  uint64
	first  time.Time
	rounds int
}

// left counts a round, and reports whether the leader has had all the rounds and the time that it may need.
func (l *late) left(epoch uint64, now time.Time) bool {
	const patience, rounds = time.Minute, 20
	if l.epoch != epoch || l.rounds == 0 {
		*l = late{epoch: epoch, first: now}
	}
	l.rounds++
	return l.rounds > rounds && now.Sub(l.first) > patience
}

func newKnowledge() *knowledge {
	return &knowledge{
		commands: map[uint64]*fate{}, open: map[uint64]*fate{}, accepted: map[string]uint64{}, services: map[events.ServiceID]*service{},
		instances: map[events.InstanceID]*instance{}, nodes: map[string]*machine{}, policy: events.DefaultPolicy(),
		asked: map[events.ServiceID]asked{}, groups: map[uint64]*group{}, back: map[events.ServiceID]*was{}, broke: map[events.ServiceID]bool{},
	}
}

// take judges one event of a round against what was before it, and learns it.
func (k *knowledge) take(j *judge, r events.Record, d events.Data) {
	id, _ := r.Scope.Service()
	name, _ := r.Scope.Node()
	k.at = r.Time
	defer k.waitsNoMore(id)
	defer k.settles(id, r.Time)
	switch d := d.(type) {
	case events.Fate:
		k.fated(j, r, d)
	case events.GroupStarted, events.GroupEntered, events.GroupAborted, events.GroupEnded:
		gid, _ := r.Scope.Group()
		k.together(j, gid, d)
	case events.ServiceRevised:
		k.revised(j, id, d)
		k.service(id).scheduleSnapshots(d.Spec, r.Time)
		k.service(id).changed = r.Sequence
	case events.ServiceScaled:
		k.scaled(id, r.Sequence, d)
		k.renew(id, d.Scale)
	case events.ServiceFired:
		k.ran(j, id, d.Run, d.Scheduled, false)
	case events.ServiceSkipped:
		k.ran(j, id, d.Run, d.Scheduled, true)
	case events.ServiceSuspended:
		k.suspended(j, id, r.Sequence)
	case events.ServiceResumed:
		k.resumed(j, id, r.Sequence, d)
	case events.ServiceDropped:
		s := k.service(id)
		s.rest, s.back, s.restFailed = nil, nil, false
		s.dropped, s.waits, s.changed, s.snapshots.wanted = true, false, r.Sequence, 0
		k.renew(id, 0)
	case events.ServiceRemoved:
		delete(k.services, id)
	case events.OperationStarted, events.OperationEntered, events.OperationProlonged, events.OperationPromoted, events.OperationPaused,
		events.OperationResumed, events.OperationEnded:
		k.operates(j, id, r.Sequence, d)
	case events.SnapshotRequested, events.SnapshotSkipped, events.SnapshotCancelled, events.SnapshotCommitted:
		k.keeps(j, id, r.Sequence, d)
	case events.TopologyChanged:
		k.told(j, id, d.Topology)
	case events.Answer:
		k.answered(j, id, d)
	case events.InstancePlaced:
		k.placed(j, id, d)
	case events.InstanceAdopted:
		k.hold(j, id, d.InstancePlaced)
	case events.InstanceRetired:
		k.retired(j, events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation}, d)
	case events.InstancePending:
		k.pending(j, id, d)
	case events.RebalanceStarted:
		k.moves = &moves{terms: d.RebalanceTerms}
	case events.RebalanceEnded:
		k.moves = nil
	case events.InstanceLost, events.InstanceReturned, events.EvictionsPaused, events.EvictionsResumed:
		k.lives(j, id, d)
	case events.PolicyChanged:
		k.policy = d.Policy
	case events.NodesAllowed:
		k.allowed = d.Allowed
	case events.InstanceForgotten:
		k.goneWith(j, events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation}, d)
	case events.Sighting:
		k.sighted(j, id, d)
	default:
		k.node(j, name, d)
	}
}

// fated judges what becomes of a command to a group, a service or a node.
func (k *knowledge) fated(j *judge, r events.Record, d events.Fate) {
	if gid, ok := r.Scope.Group(); ok {
		k.groupFate(j, gid, r.Time, d)
		return
	}
	id, _ := r.Scope.Service()
	k.fate(j, id, r.Time, d)
	if node, ok := r.Scope.Node(); ok {
		k.nodeFate(j, node, r.Time, d)
	}
}

// of returns the instances of a service that are not removed, in order.
func (k *knowledge) of(id events.ServiceID) []*instance {
	first, _ := k.find(events.InstanceID{Service: id})
	last := first
	for last < len(k.present) && k.present[last].id.Service == id {
		last++
	}
	return k.present[first:last]
}

// find returns where an instance is among those that are not removed, or would be.
func (k *knowledge) find(id events.InstanceID) (at int, there bool) {
	return slices.BinarySearchFunc(k.present, id, func(i *instance, id events.InstanceID) int { return i.id.Compare(id) })
}
