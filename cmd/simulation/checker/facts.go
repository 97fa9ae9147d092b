package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// facts is the state that the checker derives from the events of the log, one by one. Nothing here comes from the fold: the checks of what
// must never happen use these facts, so that a bug of the fold does not hide a breach.
type facts struct {
	commands map[uint64]*command
	open     map[uint64]*command // accepted commands that have not ended
	ids      map[string]uint64   // of accepted commands, by source and id
	wanted   map[events.ServiceID]wanted
	groups   map[uint64]*group

	services  map[events.ServiceID]*service
	instances map[events.InstanceID]*instance
	nodes     map[string]*machine
	// generations holds the highest generation of each slot, by the slot's instance ID with generation 0.
	generations map[events.InstanceID]uint32

	// epochs is the highest epoch of the nodes that were removed.
	epochs uint64
	// level is that of the cluster.
	level   events.Level
	allowed map[string]bool // the nodes that take instances; all if it is empty
	// rebalance are the terms of the rebalancing that is under way.
	rebalance *events.RebalanceTerms
	// evictionsPaused says that too many nodes are silent to count any of them as lost.
	evictionsPaused bool
	// at is the time of the current event, and sequence its sequence.
	at       time.Time
	sequence uint64
}

// service is the state of a service, from the events of the log.
type service struct {
	id events.ServiceID
	// born is when the checker first saw it in the log.
	born     time.Time
	revision uint64
	specs    map[uint64]events.Spec
	// keeps holds the earlier revisions whose instances also fit the current one.
	keeps map[uint64]bool
	scale uint32
	// skips holds the ordinals that it must leave out although it has higher ones.
	skips   events.Ordinals
	dropped bool
	// suspended says that an operator suspended it, and stopped that its instances must stop.
	suspended, stopped bool
	// changed is the sequence of the last event that changed what it must be.
	changed uint64
	// slots holds the instances that are not removed, by ordinal, oldest first.
	slots [][]*instance
	op    *operation
	// topology is the last topology that its instances were told of, and versions the last config version. shares says that two slots may
	// serve one key: a change continued without failed slots, or the spec has no release or acquire hook.
	topology *events.Topology
	versions uint64
	shares   bool
	// homes holds the node with the volumes of each slot.
	homes map[uint32]string
	// snapshot is the last version, taken the one of the suspension, if that took one, and snapshots holds the ones from which it can
	// resume.
	snapshot  uint64
	taken     uint64
	snapshots map[uint64]kept
	resumed   *resumption
	// run counts the runs of a job, due is when the last one was due, and completed holds the slots that are done.
	run       uint64
	due       time.Time
	completed map[uint32]bool
}

// instance is the state of an instance, from the events of the log.
type instance struct {
	id       events.InstanceID
	node     string
	address  string
	revision uint64
	run      uint64
	ports    []events.PortBinding
	reserved events.Resources
	scratch  events.Size
	// window is how long an exclusive instance may run while its node is silent; 0 for no bound.
	window time.Duration
	// replaces is the generation of its predecessor until it has taken over the slot; then 0.
	replaces uint32
	seen     events.Position
	// rests says that it does not run, and that its node starts it no longer.
	rests   bool
	answer  events.Confirmation
	retired bool
	lost    bool
	removed bool
	// forgotten says that it was forgotten with its node, which may still run it. retiredAt is when it was retired, and gone when it was removed.
	forgotten       bool
	retiredAt, gone time.Time
	// placed is when the checker first saw it. serves is since when it has served without a break; zero while it does not serve.
	placed, serves time.Time
}

func newFacts() *facts {
	return &facts{
		commands: map[uint64]*command{}, open: map[uint64]*command{}, ids: map[string]uint64{}, wanted: map[events.ServiceID]wanted{},
		groups: map[uint64]*group{}, services: map[events.ServiceID]*service{}, instances: map[events.InstanceID]*instance{},
		nodes: map[string]*machine{}, generations: map[events.InstanceID]uint32{},
	}
}

// service returns the service, and creates it when the log mentions it first.
func (c *Checker) service(id events.ServiceID) *service {
	s := c.facts.services[id]
	if s == nil {
		s = &service{
			id: id, born: c.Now(), specs: map[uint64]events.Spec{}, homes: map[uint32]string{}, snapshots: map[uint64]kept{},
			completed: map[uint32]bool{},
		}
		c.facts.services[id] = s
	}
	return s
}

// spec returns the spec of the current revision.
func (s *service) spec() events.Spec { return s.specs[s.revision] }

// current reports whether the instance fits the current revision.
func (s *service) current(i *instance) bool { return i.revision == s.revision || s.keeps[i.revision] }

// wants reports whether the scale has the slot.
func (s *service) wants(slot uint32) bool {
	return slot < s.scale+uint32(len(s.skips)) && !slices.Contains(s.skips, slot)
}

// has reports whether the slot must have an instance. While the topology changes, this includes the slots of the old and the new one.
func (s *service) has(slot uint32) bool {
	return s.wants(slot) || (s.topology != nil && !s.dropped && slot < s.topology.Span())
}

// at returns the instances of a slot that are not removed, oldest first.
func (s *service) at(ordinal uint32) []*instance {
	if int(ordinal) < len(s.slots) {
		return s.slots[ordinal]
	}
	return nil
}

// any reports whether is returns true for an instance of the service that is not removed.
func (s *service) any(is func(*instance) bool) bool {
	return slices.ContainsFunc(slices.Concat(s.slots...), is)
}

// paused reports whether the service's operation stands still until an operator resumes it.
func (s *service) paused() bool { return s.op != nil && s.op.paused }

// runs reports whether the instance must run.
func (i *instance) runs() bool { return !i.retired && !i.removed }

// online reports whether the instance serves, as far as the log knows.
func (i *instance) online() bool { return i.seen.Phase == events.PhaseOnline && !i.lost }

// takes returns the resources that are reserved for the instance: only its disk while it does not run.
func (i *instance) takes() events.Resources {
	if i.rests {
		return events.Resources{Disk: i.reserved.Disk}
	}
	return i.reserved
}

// String returns the state of the instance in the log. The instance may be nil.
func (i *instance) String() string {
	switch {
	case i == nil:
		return "not at all"
	case i.removed:
		return "as removed"
	case i.retired:
		return "as retired"
	}
	return fmt.Sprintf("on %s, %s", i.node, i.seen.Phase)
}

// event checks an event of a closed round against the facts before it, and applies it to them.
func (c *Checker) event(r events.Record) {
	c.facts.at, c.facts.sequence = r.Time, r.Sequence
	id, _ := r.Scope.Service()
	name, _ := r.Scope.Node()
	switch d := r.Data.(type) {
	case events.Outcome:
		c.ended(r, d)
	case events.GroupStarted, events.GroupEntered, events.GroupAborted, events.GroupEnded:
		gid, _ := r.Scope.Group()
		c.group(gid, d)
	case events.ServiceRevised, events.ServiceScaled, events.ServiceDropped, events.ServiceRemoved, events.ServiceSuspended,
		events.ServiceResumed, events.ServiceFired, events.ServiceSkipped:
		c.serviceChanges(id, d)
	case events.OperationStarted, events.OperationEntered, events.OperationProlonged, events.OperationPromoted, events.OperationPaused,
		events.OperationResumed, events.OperationEnded:
		c.operates(id, d)
	case events.SnapshotCommitted:
		c.committed(id, d)
	case events.TopologyChanged:
		c.told(id, d.Topology)
	case events.Answer:
		c.answers(id, d)
	case events.InstancePlaced:
		c.placed(id, d)
	case events.InstanceAdopted:
		c.adopted(id, d.InstancePlaced)
	case events.InstanceRetired:
		c.retired(id, d)
	case events.InstancePending:
		if s := c.service(id); s.stopped || s.dropped {
			c.breach("reasons", "%s/%d waits for a node, but the service is suspended or dropped", id, d.Ordinal)
		}
	case events.InstanceLost:
		c.lost(id, d)
	case events.InstanceReturned:
		c.returned(id, d)
	case events.InstanceForgotten:
		c.forgotten(id, d)
	case events.Sighting:
		c.sighted(id, d)
	default:
		c.clusterChanges(name, d)
	}
}

// clusterChanges applies an event of the cluster or of a node.
func (c *Checker) clusterChanges(node string, d events.Data) {
	f := c.facts
	switch d := d.(type) {
	case events.ClusterLevel:
		c.must(d.Level > f.level, "levels", "the cluster reaches level %d after level %d", d.Level, f.level)
		f.level = d.Level
		for _, m := range f.nodes {
			m.levels.Most = max(m.levels.Most, d.Level) // it said so, and the log does not say it before
		}
	case events.NodesAllowed:
		f.allowed = map[string]bool{}
		for _, name := range d.Allowed {
			f.allowed[name] = true
		}
	case events.RebalanceStarted:
		f.rebalance = &d.RebalanceTerms
	case events.RebalanceEnded:
		f.rebalance = nil
	case events.EvictionsPaused, events.EvictionsResumed:
		_, pauses := d.(events.EvictionsPaused)
		c.must(pauses != f.evictionsPaused, "liveness", "evictions are set to paused: %t, and were so before", pauses)
		f.evictionsPaused = pauses
	default:
		if node != "" {
			c.nodeChanges(node, d)
		}
	}
}
