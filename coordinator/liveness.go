package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// livenessDue gives up the nodes that were silent for too long, and their instances. It does not while so many nodes are silent
// that the network has probably parted.
func (t *Turn) livenessDue() {
	a := t.work
	if t.Cluster.Recovering || (!a.unheard && (a.lostAt.IsZero() || t.Now.Before(a.lostAt))) {
		return
	}
	t.reserve(MaxPerInput)
	t.cause = events.Cause{}
	a.unheard, a.lostAt = false, time.Time{}
	if !t.atCluster(events.WorkLiveness) {
		return
	}
	t.guardEvictions()
	if t.anySilent() {
		t.loseNodes()
		t.loseInstances()
	}
}

// guardEvictions pauses evictions while too many nodes are silent, so that nothing is lost, and resumes them afterwards.
func (t *Turn) guardEvictions() {
	silent, nodes := uint32(0), uint32(0)
	for _, n := range t.Cluster.Nodes {
		if n.Epoch == 0 || n.Lost || n.Forgotten {
			continue
		}
		nodes++
		if n.Silent {
			silent++
		}
	}
	switch pauses := t.Cluster.Policy.Liveness.Pauses(silent, nodes); {
	case pauses && !t.Cluster.Evictions.Paused:
		t.emit(events.ClusterScope, events.EvictionsPaused{Silent: silent, Nodes: nodes})
	case !pauses && t.Cluster.Evictions.Paused:
		t.emit(events.ClusterScope, events.EvictionsResumed{Silent: silent, Nodes: nodes})
	}
}

// loseNodes gives up the nodes that were silent for longer than the cluster's policy allows.
func (t *Turn) loseNodes() {
	after := time.Duration(t.Cluster.Policy.Liveness.WithDefaults().LostAfter)
	for _, name := range slices.Sorted(maps.Keys(t.Cluster.Nodes)) {
		if n := t.Cluster.Nodes[name]; t.atNode(events.WorkLiveness, name) && t.loses(n) && !n.Lost && t.overdue(n, after) {
			t.emit(events.NodeScope(name), events.NodeLost{})
		}
	}
}

// loseInstances gives up the instances on nodes that were silent for longer than their services allow.
func (t *Turn) loseInstances() {
	for _, id := range slices.SortedFunc(maps.Keys(t.Cluster.Services), events.ServiceID.Compare) {
		s := t.Cluster.Services[id]
		if !t.atService(events.WorkLiveness, id) {
			continue
		}
		for _, i := range slices.Collect(s.Instances()) {
			n := t.Cluster.Nodes[i.Node]
			if i.Lost || !t.loses(n) || !t.overdue(n, t.lostAfter(s, i)) {
				continue
			}
			told := []events.Data{events.InstanceLost{Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Node: i.Node}}
			if i.PlacedWith().Window > 0 && i.Retired() == "" { // its window is over: it has ended, and does not return
				told = append(told, events.InstanceRetired{Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Reason: events.RetireLost})
			}
			t.emit(events.ServiceScope(id), told...)
		}
	}
}

// loses reports whether what is on the node may be given up. An operator who revokes a node decides for that one node, whatever the others do.
func (t *Turn) loses(n *projections.Node) bool {
	return n.Silent && (n.Revoked || !t.Cluster.Evictions.Paused)
}

func (t *Turn) anySilent() bool {
	for _, n := range t.Cluster.Nodes {
		if n.Silent {
			return true
		}
	}
	return false
}

// overdue reports whether a node has been silent for long enough, counted while a leader could hear it. If not, it notes when
// the leader must look again.
func (t *Turn) overdue(n *projections.Node, after time.Duration) bool {
	since := slices.MaxFunc([]time.Time{n.SilentSince, t.work.began, t.Cluster.Evictions.ResumedAt}, time.Time.Compare)
	due := since.Add(after)
	if !t.Now.Before(due) {
		return true
	}
	if at := t.work.lostAt; at.IsZero() || due.Before(at) {
		t.work.lostAt = due
	}
	return false
}

// reconcile retires disconnected instances that cannot return, and takes back lost instances of nodes that send heartbeats
// again. Of two instances of a slot one stays.
func (t *Turn) reconcile(s *projections.Service) {
	if !s.Loses() {
		return
	}
	for _, i := range slices.Collect(s.Instances()) {
		const most = 2 // one instance is retired, and one returns
		t.reserve(most)
		slot := s.Slots[i.ID.Ordinal]
		if slices.Contains(slot.Beside().Disconnected, i) {
			t.reconcileDisconnected(s, slot, i)
		}
		if i.Lost && t.Cluster.Nodes[i.Node].Tells() && (i.Retired() != "" || slot.Current == nil || !slices.Contains(slot.Beside().Disconnected, i)) {
			t.emit(events.ServiceScope(s.ID), events.InstanceReturned{Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Node: i.Node})
		}
	}
}

// comesBack reports whether the node of a lost instance sends heartbeats again, but has not listed its instances yet: of a disconnected one, which may
// get its slot back, or of one that still has the slot's volumes.
func (t *Turn) comesBack(s *projections.Service, ordinal uint32) bool {
	unlisted := func(i *projections.Instance) bool {
		n := t.Cluster.Nodes[i.Node]
		return i.Lost && n.Live() && !n.Tells() && n.Degraded == ""
	}
	return slices.ContainsFunc(s.Slots[ordinal].Beside().Disconnected, unlisted) || s.Writes(ordinal, unlisted)
}

// reconcileDisconnected retires the disconnected instance or its replacement, if one of them must stop.
func (t *Turn) reconcileDisconnected(s *projections.Service, slot *projections.Slot, disconnected *projections.Instance) {
	why := outlived(s, disconnected)
	switch {
	case why != "":
		t.retire(disconnected, why)
	case slot.Current == nil || !t.Cluster.Nodes[disconnected.Node].Tells():
	case slot.Next == nil && t.prefers(s, disconnected, slot.Current):
		t.retire(slot.Current, events.RetireReturned)
	default:
		t.retire(disconnected, events.RetireReplaced)
	}
}

// outlived returns why the slot no longer wants the disconnected instance, or "" if it still does.
func outlived(s *projections.Service, disconnected *projections.Instance) events.RetireReason {
	switch o := disconnected.ID.Ordinal; {
	case s.Dropped:
		return events.RetireDropped
	case s.Suspended():
		return events.RetireSuspended
	case !s.Has(o):
		return events.RetireScaledDown
	case s.Job != nil, s.Current().Spec.Global(), s.Alone(o), !s.UpToDate(disconnected) && s.Target(o) != disconnected.Revision:
		return events.RetireRevised
	}
	return ""
}

// prefers reports whether the original stays, and not the replacement. An original on a draining node never stays, since the
// drain would move it away.
func (t *Turn) prefers(s *projections.Service, original, replacement *projections.Instance) bool {
	if t.Cluster.Nodes[original.Node].Draining() {
		return false
	}
	switch s.Current().Spec.Disconnects().Reconcile {
	case events.ReconcileKeepOriginal:
		return true
	case events.ReconcileKeepReplacement:
		return false
	case events.ReconcileLongestRunning:
	}
	if serves := t.Cluster.Serves(original); !serves || !t.Cluster.Serves(replacement) {
		return serves
	}
	return original.Times.Served < replacement.Times.Served
}
