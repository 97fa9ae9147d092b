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

// Look takes the services on the agenda in order, and for each the next step from what it is to what it shall be, until
// none is left or the round is full. The services that are left stay on the agenda; so do all while the cluster recovers.
func (t *Turn) Look() {
	if t.Cluster.Recovering {
		return
	}
	t.Working = events.Unit{}
	t.agenda.board.At(t.Now)
	t.Fill(func() {
		t.forgetNodes()
		for t.lookAtAll(); t.stepGroups() || t.evacuate(); t.lookAtAll() {
		}
		t.rebalance()
	})
}

// lookAtAll looks at the services on the agenda until it is empty.
func (t *Turn) lookAtAll() {
	for ids := t.agenda.inOrder(t.Cluster); len(ids) > 0; ids = t.agenda.inOrder(t.Cluster) {
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
			return // it is looked at once more
		}
	}
	t.agenda.done(id)
}

// causeOf returns the cause of whatever the service still needs: its open command.
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
		t.work(s)
	default:
		for t.mend(s); t.operate(s) || t.tell(s); t.mend(s) {
		}
		t.reconcile(s)
		t.finish(s)
	}
}

// mend brings each slot to its current target.
func (t *Turn) mend(s *projections.Service) {
	t.reconcile(s)
	if s.Resting() {
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

// vacant reports whether the slot is to have an instance and has none. It is to have none while its wave waits for those
// before to be gone, nor, where it has one at a time, before the last is; nor
// while what was lost of it is about to be back.
func (t *Turn) vacant(s *projections.Service, ordinal uint32) bool {
	switch {
	case !s.Has(ordinal):
		return false
	case int(ordinal) >= len(s.Slots):
		return true
	}
	slot := s.Slots[ordinal]
	return slot.Vacant() && !t.comesBack(slot) && !clears(s, ordinal) && !t.backsOff(s, ordinal) &&
		(slot.Remains() == nil || !s.Alone(ordinal))
}

// retireAll retires the instances of every slot.
func (t *Turn) retireAll(s *projections.Service, reason events.RetireReason) {
	for _, slot := range s.Slots {
		t.retireSlot(slot, reason)
	}
}

// retireScaledDown retires the instances of the slots that the service is not to have.
func (t *Turn) retireScaledDown(s *projections.Service) {
	for o, slot := range s.Slots {
		if !s.Has(uint32(o)) {
			t.retireSlot(slot, events.RetireScaledDown)
		}
	}
}

func (t *Turn) retireSlot(slot *projections.Slot, reason events.RetireReason) {
	for _, i := range append([]*projections.Instance{slot.Next, slot.Current}, slot.Beside().Away...) {
		if i != nil {
			t.retire(i, reason)
		}
	}
}

// retireUnfit retires the instances that cannot become what they shall be on their nodes, while the next generation can.
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

// unfit says why the instance cannot stay, or "": the node cannot publish its ports, and the next has others; or it was
// made from another image than its revision has, which the next order names; or it is of a job, which the service is no
// more, and has ended: nobody starts it again.
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

// fill places an instance in every slot that has none, until as many have one as may. Slots that no node can have stay
// empty until a node can; of the first it says why, once no other one is placed any more: each may make room in the zones
// for one before it.
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

// fillOnce goes through the empty slots once. It returns why the first that waits does.
// What one cannot have, the next of its revision cannot either, unless it has a node of its own for its volumes, or may have one that is held
// from what is new.
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

// revisions are those of a service whose next instance no node can have: the present one, and that which slots have until
// their wave.
type revisions []uint64

func (r revisions) have(revision uint64) bool { return slices.Contains(r, revision) }

// finish ends the service's open command once all is as it shall be, for as long as counts, and a dropped service with its last instance:
// what is lost keeps its record, and holds nothing up. That of a group ends with all of its services.
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

// missing says for people what the service still lacks.
func missing(c *projections.Cluster, s *projections.Service) string {
	if s.Dropped {
		return fmt.Sprintf("%d instances are not removed yet", s.Total())
	}
	if s.Job != nil {
		return undone(c, s)
	}
	if s.Resting() {
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

// serves reports whether there is the instance, and it serves.
func serves(i *projections.Instance) bool { return i != nil && i.Seen.Phase == events.PhaseOnline }

func utoa(n uint64) string { return strconv.FormatUint(n, 10) }
