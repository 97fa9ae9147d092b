package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// livenessDue gives up the nodes that were silent for too long, and what runs there, unless so many are silent that the
// network has rather parted.
func (t *Turn) livenessDue() {
	a := t.agenda
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
	if !t.Cluster.Evictions.Paused && t.anySilent() {
		t.loseNodes()
		t.loseInstances()
	}
}

// guardEvictions has nothing be lost while too many nodes are silent.
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

// loseNodes gives up the nodes that were silent for longer than the cluster waits.
func (t *Turn) loseNodes() {
	after := time.Duration(t.Cluster.Policy.Liveness.WithDefaults().LostAfter)
	for _, name := range slices.Sorted(maps.Keys(t.Cluster.Nodes)) {
		if n := t.Cluster.Nodes[name]; t.atNode(events.WorkLiveness, name) && n.Silent && !n.Lost && t.overdue(n, after) {
			t.emit(events.NodeScope(name), events.NodeLost{})
		}
	}
}

// loseInstances gives up the instances on nodes that were silent for longer than their services wait.
func (t *Turn) loseInstances() {
	for _, id := range slices.SortedFunc(maps.Keys(t.Cluster.Services), events.ServiceID.Compare) {
		s := t.Cluster.Services[id]
		if !t.atService(events.WorkLiveness, id) {
			continue
		}
		for _, i := range slices.Collect(s.Instances()) {
			n := t.Cluster.Nodes[i.Node]
			if i.Lost || !n.Silent || !t.overdue(n, t.lostAfter(s, i)) {
				continue
			}
			told := []events.Data{events.InstanceLost{Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Node: i.Node}}
			if i.PlacedWith().Window > 0 && i.Retired() == "" { // it has ended, and does not come back
				told = append(told, events.InstanceRetired{Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Reason: events.RetireLost})
			}
			t.emit(events.ServiceScope(id), told...)
		}
	}
}

func (t *Turn) anySilent() bool {
	for _, n := range t.Cluster.Nodes {
		if n.Silent {
			return true
		}
	}
	return false
}

// overdue reports whether a silent node has been so for long enough, as far as somebody was there to hear it. What is not due
// yet is looked at again by then.
func (t *Turn) overdue(n *projections.Node, after time.Duration) bool {
	since := slices.MaxFunc([]time.Time{n.SilentSince, t.agenda.began, t.Cluster.Evictions.ResumedAt}, time.Time.Compare)
	due := since.Add(after)
	if !t.Now.Before(due) {
		return true
	}
	if at := t.agenda.lostAt; at.IsZero() || due.Before(at) {
		t.agenda.lostAt = due
	}
	return false
}

// reconcile retires what is away and cannot come back, and takes back what was lost of nodes that are heard again: of two
// instances of a slot one stays.
func (t *Turn) reconcile(s *projections.Service) {
	if !s.Loses() {
		return
	}
	for _, i := range slices.Collect(s.Instances()) {
		const most = 2 // that one goes, and that one is back
		t.reserve(most)
		slot := s.Slots[i.ID.Ordinal]
		if slices.Contains(slot.Beside().Away, i) {
			t.reconcileAway(s, slot, i)
		}
		if i.Lost && t.Cluster.Nodes[i.Node].Tells() && (i.Retired() != "" || slot.Current == nil || !slices.Contains(slot.Beside().Away, i)) {
			t.emit(events.ServiceScope(s.ID), events.InstanceReturned{Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Node: i.Node})
		}
	}
}

// comesBack reports whether the node of an instance that is away is heard, and has not said yet what it has.
func (t *Turn) comesBack(slot *projections.Slot) bool {
	return slices.ContainsFunc(slot.Beside().Away, func(i *projections.Instance) bool {
		n := t.Cluster.Nodes[i.Node]
		return n.Heard() && !n.Tells() && n.Degraded == ""
	})
}

// reconcileAway retires the instance that is away, or what stands in for it, where either is to go.
func (t *Turn) reconcileAway(s *projections.Service, slot *projections.Slot, away *projections.Instance) {
	why := outlived(s, away)
	switch {
	case why != "":
		t.retire(away, why)
	case slot.Current == nil || !t.Cluster.Nodes[away.Node].Tells():
	case slot.Next == nil && t.prefers(s, away, slot.Current):
		t.retire(slot.Current, events.RetireReturned)
	default:
		t.retire(away, events.RetireReplaced)
	}
}

// outlived says why the instance that is away is nothing that its slot would have any more, or "" where it is.
func outlived(s *projections.Service, away *projections.Instance) events.RetireReason {
	switch o := away.ID.Ordinal; {
	case s.Dropped:
		return events.RetireDropped
	case s.Resting():
		return events.RetireSuspended
	case !s.Has(o):
		return events.RetireScaledDown
	case s.Job != nil, s.Current().Spec.Global(), s.Alone(o), !s.UpToDate(away) && s.Target(o) != away.Revision:
		return events.RetireRevised
	}
	return ""
}

// prefers reports whether the original is to stay, and not the replacement. What is on a node that is drained would go from there.
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
