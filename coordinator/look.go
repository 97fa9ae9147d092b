package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Look reconciles the services in the work queue, in order. For each it takes the next step to its target, until the queue is
// empty or the round is full. The services that are left stay in the work queue. While the cluster recovers, all of them stay.
func (t *Turn) Look() {
	if t.Cluster.Recovering {
		return
	}
	t.Working = events.Unit{}
	t.work.board.At(t.Now)
	t.Fill(func() {
		t.forgetNodes()
		for t.lookAtAll(); t.stepGroups() || t.evacuate(); t.lookAtAll() {
		}
		t.rebalance()
	})
}

// lookAtAll reconciles the services in the work queue until it is empty.
func (t *Turn) lookAtAll() {
	for ids := t.work.inOrder(t.Cluster); len(ids) > 0; ids = t.work.inOrder(t.Cluster) {
		for _, id := range ids {
			t.lookAt(id)
		}
	}
}

func (t *Turn) lookAt(id events.ServiceID) {
	if t.atService(events.WorkReconcile, id) {
		if s := t.Cluster.Services[id]; s != nil {
			t.cause = t.causeOf(s)
			t.look(s)
		}
		if t.begin(id) {
			return // the next pass reconciles it again
		}
	}
	t.work.done(id)
}

// causeOf returns the cause of the steps that the service still needs: its open command.
func (t *Turn) causeOf(s *projections.Service) events.Cause {
	if s.Holder == 0 {
		return events.Cause{}
	}
	return t.Cluster.Commands[s.Holder].Cause
}

func (t *Turn) look(s *projections.Service) {
	t.endSuperseded(s)
	switch {
	case s.Dropped:
		t.reconcile(s)
		t.retireAll(s, events.RetireDropped)
		t.finish(s)
	case s.Job != nil:
		t.reconcile(s)
		t.swap(s)
		t.runJob(s)
	default:
		for t.repair(s); t.operate(s) || t.tell(s); t.repair(s) {
		}
		t.reconcile(s)
		t.finish(s)
	}
}

// repair brings each slot to its current target.
func (t *Turn) repair(s *projections.Service) {
	t.reconcile(s)
	if s.Suspended() {
		t.retireAll(s, events.RetireSuspended)
		return
	}
	t.swap(s)
	t.follow(s)
	t.retireScaledDown(s)
	t.retireUnfit(s)
	t.retireCrashed(s)
	t.fill(s, s.Wanted())
}

// vacant reports whether the slot must have an instance and has none. It stays empty while its wave waits for the former
// instances to be gone. If the slot may have only one instance at a time, it stays empty until the last one is gone. It also
// stays empty while a lost instance of it is about to return.
func (t *Turn) vacant(s *projections.Service, ordinal uint32) bool {
	switch {
	case !s.Has(ordinal):
		return false
	case int(ordinal) >= len(s.Slots):
		return true
	}
	slot := s.Slots[ordinal]
	return slot.Vacant() && !t.comesBack(s, ordinal) && !clears(s, ordinal) && !t.backsOff(s, ordinal) &&
		(slot.Remains() == nil || !s.Alone(ordinal))
}

// retireAll retires the instances of every slot.
func (t *Turn) retireAll(s *projections.Service, reason events.RetireReason) {
	for _, slot := range s.Slots {
		t.retireSlot(slot, reason)
	}
}

// retireScaledDown retires the instances of the slots that the service must not have.
func (t *Turn) retireScaledDown(s *projections.Service) {
	for o, slot := range s.Slots {
		if !s.Has(uint32(o)) {
			t.retireSlot(slot, events.RetireScaledDown)
		}
	}
}

func (t *Turn) retireSlot(slot *projections.Slot, reason events.RetireReason) {
	for _, i := range append([]*projections.Instance{slot.Next, slot.Current}, slot.Beside().Disconnected...) {
		if i != nil {
			t.retire(i, reason)
		}
	}
}

// retireUnfit retires the instances that cannot reach their target on their nodes, while the next generation can.
func (t *Turn) retireUnfit(s *projections.Service) {
	for _, slot := range s.Slots {
		if slot.Current == nil {
			continue
		}
		if why := unfit(s, slot.Current); why != "" {
			t.retire(slot.Current, why)
		}
	}
}

// unfit returns why the instance cannot stay, or "". There are three reasons. The node cannot publish its ports, and the next
// instance has others. Or the instance was made from another image than its revision has, and the next order names that one. Or
// it belongs to a job that the service was, and has ended: Rookery does not start it again.
func unfit(s *projections.Service, i *projections.Instance) events.RetireReason {
	switch {
	case i.Seen.Phase == events.PhaseOffline && i.Ended().Reason == events.OfflinePortConflict:
		return events.RetirePortConflict
	case i.Differs && s.UpToDate(i):
		return events.RetireOtherImage
	case i.Seen.Phase == events.PhaseCompleted && s.Job == nil:
		return events.RetireCompleted
	case i.Seen.Phase == events.PhaseOffline && s.Job == nil && s.Revisions[i.Revision].Spec.IsJob():
		return events.RetireFailed
	}
	return ""
}

func (t *Turn) retire(i *projections.Instance, reason events.RetireReason) {
	t.emit(events.ServiceScope(i.ID.Service), events.InstanceRetired{
		Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Reason: reason,
	})
}

// fill places an instance in every empty slot, up to most instances. A slot that no node can take stays empty until a node can.
// Once a pass places nothing, fill reports why the first such slot waits. Until then it repeats the pass, because each placed
// instance may make room in the zones for a slot before it.
func (t *Turn) fill(s *projections.Service, most int) {
	for {
		before := s.Filled()
		waits := t.fillOnce(s, most)
		if waits == nil {
			return
		}
		if s.Filled() == before {
			t.pend(s, *waits)
			return
		}
	}
}

// fillOnce goes through the empty slots once. It returns why the first slot that waits does so. If no node can take a slot, no
// node can take the next slot of its revision either, so fillOnce skips that one. Two kinds of slots are exceptions: one that
// its volumes tie to a node, and one that may use a node that is held from new instances.
func (t *Turn) fillOnce(s *projections.Service, most int) (waits *events.InstancePending) {
	var full, fullForNew revisions
	for o := uint32(0); o < s.Span() && s.Filled() < most; o++ {
		bound, of := s.Home(o) != "", s.Target(o)
		if !t.vacant(s, o) || (!bound && (full.have(of) || (fullForNew.have(of) && s.Fresh(o)))) {
			continue
		}
		why := t.place(s, o)
		waits = cmp.Or(waits, why)
		if why != nil && !bound {
			fullForNew = append(fullForNew, of)
			if why.Removed.Held == 0 {
				full = append(full, of)
			}
		}
	}
	return waits
}

// revisions are the revisions of a service whose next instance no node can take: the present one, and the one that slots keep
// until their wave.
type revisions []uint64

func (r revisions) have(revision uint64) bool { return slices.Contains(r, revision) }

// finish ends the service's open command once the service is at its target for long enough, and removes a dropped service with
// its last instance. A lost instance does not block a command; it keeps its record. A group's command ends with all of the
// group's services instead.
func (t *Turn) finish(s *projections.Service) {
	if !s.Proven(t.Now) {
		return
	}
	var ended []events.Data
	if s.Holder != 0 && t.Cluster.GroupOf(s.ID) == nil {
		ended = append(ended, events.CommandSucceeded{Sequence: s.Holder})
	}
	if s.Dropped && s.Total() == 0 {
		ended = append(ended, events.ServiceRemoved{})
	}
	t.emit(events.ServiceScope(s.ID), ended...)
}

// missing describes for the operator what the service still lacks.
func missing(c *projections.Cluster, s *projections.Service) string {
	if s.Dropped {
		return fmt.Sprintf("%d instances are not removed yet", s.Total())
	}
	if s.Job != nil {
		return undone(c, s)
	}
	if s.Suspended() {
		return fmt.Sprintf("%d instances are not gone yet", s.Total())
	}
	text := fmt.Sprintf("%d of %d instances serve in revision %d", s.Serving(), s.Scale, s.Revision)
	if op := s.Operation; op != nil {
		text += fmt.Sprintf("; its %s is in wave %d, phase %s", op.Kind, op.Wave, op.Phase)
	}
	if s.Lacks() {
		text += fmt.Sprintf("; %d have no node (%s)", s.Wanted()-s.Filled(), c.WhyPending(s))
	}
	for o, slot := range s.Slots {
		if loop := s.CrashLoop(uint32(o), s.Target(uint32(o))); loop != "" && !serves(slot.Current) {
			return fmt.Sprintf("%s; slot %d is in a %s", text, o, loop)
		}
		switch i := slot.Current; {
		case i == nil:
		case i.Lost:
			return text + fmt.Sprintf("; %s is lost: lost connection to %s", i.ID, i.Node)
		case i.Seen.Phase == events.PhaseOffline:
			return strings.TrimSpace(text + fmt.Sprintf("; %s is offline: %s %s", i.ID, i.Ended().Reason, i.Ended().Message))
		}
	}
	return text
}

// serves reports whether the instance exists and serves.
func serves(i *projections.Instance) bool { return i != nil && i.Seen.Phase == events.PhaseOnline }

func utoa(n uint64) string { return strconv.FormatUint(n, 10) }
