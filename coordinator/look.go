package coordinator

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Look takes the services on the agenda in order, and for each the next step from what it is to what it shall be, until
// none is left. A service whose step does not fit into the round stays on the agenda; so do all while the cluster recovers.
func (t *Turn) Look() {
	if t.Cluster.Recovering {
		return
	}
	t.agenda.board.At(t.Now)
	for ids := t.agenda.inOrder(t.Cluster); len(ids) > 0 && t.lookAt(ids); {
		ids = t.agenda.inOrder(t.Cluster)
	}
	t.Looking = events.ServiceID{}
	if len(t.agenda.services) == 0 {
		t.rebalance()
	}
}

// lookAt reports false where the round is full before all services are done.
func (t *Turn) lookAt(ids []events.ServiceID) bool {
	for _, id := range ids {
		t.Looking = id
		if s := t.Cluster.Services[id]; s != nil {
			t.cause = t.causeOf(s)
			if !t.look(s) {
				return false
			}
		}
		begun, fits := t.begin(id)
		if !fits {
			return false
		}
		if !begun {
			t.agenda.done(id)
		}
	}
	return true
}

// causeOf returns the cause of whatever the service still needs: its open command.
func (t *Turn) causeOf(s *projections.Service) events.Cause {
	if s.Holder == 0 {
		return events.Cause{}
	}
	return t.Cluster.Commands[s.Holder].Cause
}

// look reports false where the round is full before the service is done.
func (t *Turn) look(s *projections.Service) bool {
	if s.Dropped {
		return t.retireFrom(s, 0, events.RetireDropped) && t.finish(s)
	}
	if s.Job != nil {
		return t.swap(s) && t.work(s)
	}
	return t.swap(s) && t.follow(s) && t.retireFrom(s, s.Scale, events.RetireScaledDown) && t.retireUnfit(s) &&
		t.fill(s, int(s.Scale)) && t.roll(s) && t.finish(s)
}

// retireFrom retires the instances of every slot from the ordinal on.
func (t *Turn) retireFrom(s *projections.Service, ordinal uint32, reason events.RetireReason) bool {
	for o := int(ordinal); o < len(s.Slots); o++ {
		for _, i := range [...]*projections.Instance{s.Slots[o].Next, s.Slots[o].Current} {
			if i != nil && !t.retire(i, reason) {
				return false
			}
		}
	}
	return true
}

// retireUnfit retires the instances that cannot become what they shall be on their nodes, while the next generation can.
func (t *Turn) retireUnfit(s *projections.Service) bool {
	for _, slot := range s.Slots {
		if slot.Current == nil {
			continue
		}
		if why := unfit(s, slot.Current); why != "" && !t.retire(slot.Current, why) {
			return false
		}
	}
	return true
}

// unfit says why the instance cannot stay, or "": the node cannot publish its ports, and the next has others; or it was
// made from another image than its revision has, which the next order names; or it is of a job, which the service is no
// more, and has run to its end.
func unfit(s *projections.Service, i *projections.Instance) events.RetireReason {
	switch {
	case i.Seen.Phase == events.PhaseOffline && i.Reason == events.OfflinePortConflict:
		return events.RetirePortConflict
	case i.Differs && s.UpToDate(i):
		return events.RetireOtherImage
	case i.Seen.Phase == events.PhaseCompleted && s.Job == nil:
		return events.RetireCompleted
	}
	return ""
}

func (t *Turn) retire(i *projections.Instance, reason events.RetireReason) bool {
	if t.Room() == 0 {
		return false
	}
	t.emit(events.ServiceScope(i.ID.Service), events.InstanceRetired{
		Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Reason: reason,
	})
	return true
}

// fill places an instance in every slot that has none, until as many have one as may. Slots that no node can have stay
// empty until a node can; of the first it says why, once no other one is placed any more: each may make room in the zones
// for one before it.
func (t *Turn) fill(s *projections.Service, most int) bool {
	for {
		before := s.Filled()
		waits, fits := t.fillOnce(s, most)
		switch {
		case !fits:
			return false
		case waits == nil:
			return true
		case s.Filled() > before:
		case t.Room() == 0:
			return false
		default:
			t.pend(s, *waits)
			return true
		}
	}
}

// fillOnce goes through the empty slots once. It returns why the first that waits does, and false where the round is full.
// What one cannot have, the next cannot either, unless it has a node of its own for its volumes, or may have one that is held
// from what is new.
func (t *Turn) fillOnce(s *projections.Service, most int) (waits *events.InstancePending, fits bool) {
	full, fullForNew := false, false
	for o := uint32(0); o < s.Scale && s.Filled() < most; o++ {
		bound := s.Home(o) != ""
		if (int(o) < len(s.Slots) && !s.Slots[o].Vacant()) || (!bound && (full || (fullForNew && s.Fresh(o)))) {
			continue
		}
		if t.Room() == 0 {
			return nil, false
		}
		if why := t.place(s, o); why != nil {
			waits, fullForNew = cmp.Or(waits, why), fullForNew || !bound
			full = full || (!bound && why.Removed.Held == 0)
		}
	}
	return waits, true
}

// roll replaces the instances of earlier revisions one at a time: the next only once all of the new one serve. Where no
// node has room for one more, one goes first that makes room by that.
func (t *Turn) roll(s *projections.Service) bool {
	var earlier []*projections.Instance
	for o, slot := range s.Slots {
		i := slot.Current
		switch {
		case i == nil && len(slot.Leaving) > 0 && o < int(s.Scale):
			return true // its next instance comes when the one before is gone
		case i == nil:
		case s.UpToDate(i) && i.Seen.Phase != events.PhaseOnline:
			return true
		case !s.UpToDate(i):
			earlier = append(earlier, i)
		}
	}
	if len(earlier) == 0 {
		return true
	}
	next := t.replaceable(s, earlier)
	if next == nil {
		return t.makeRoom(s, earlier)
	}
	const needed = 2 // one event to retire, one to place
	if t.Room() < needed {
		return false
	}
	return t.retire(next, events.RetireRevised) && t.place(s, next.ID.Ordinal) == nil
}

// replaceable returns the first instance whose successor a node could have beside it, or nil.
func (t *Turn) replaceable(s *projections.Service, earlier []*projections.Instance) *projections.Instance {
	for _, i := range earlier {
		if t.agenda.board.Could(s, i.ID.Ordinal) {
			return i
		}
	}
	return nil
}

// makeRoom retires the first instance whose node could have its successor.
func (t *Turn) makeRoom(s *projections.Service, earlier []*projections.Instance) bool {
	for _, i := range earlier {
		if t.agenda.board.CouldInstead(s, i) {
			return t.retire(i, events.RetireRevised)
		}
	}
	return true
}

// finish ends the service's open command once all is as it shall be, and a dropped service with its last instance.
func (t *Turn) finish(s *projections.Service) bool {
	if !s.Settled() {
		return true
	}
	const needed = 2 // the command's end and the service's
	if t.Room() < needed {
		return false
	}
	if s.Holder != 0 {
		t.emit(events.ServiceScope(s.ID), events.CommandSucceeded{Sequence: s.Holder})
	}
	if s.Dropped {
		t.emit(events.ServiceScope(s.ID), events.ServiceRemoved{})
	}
	return true
}

// missing says for people what the service still lacks.
func missing(c *projections.Cluster, s *projections.Service) string {
	if s.Dropped {
		return fmt.Sprintf("%d instances are not removed yet", s.Total())
	}
	if s.Job != nil {
		return undone(c, s)
	}
	text := fmt.Sprintf("%d of %d instances serve in revision %d", s.Serving(), s.Scale, s.Revision)
	if s.Lacks() {
		text += fmt.Sprintf("; %d have no node (%s)", int(s.Scale)-s.Filled(), c.WhyPending(s))
	}
	for _, slot := range s.Slots {
		if i := slot.Current; i != nil && i.Seen.Phase == events.PhaseOffline {
			return strings.TrimSpace(text + fmt.Sprintf("; %s is offline: %s %s", i.ID, i.Reason, i.Message))
		}
	}
	return text
}

func utoa(n uint64) string { return strconv.FormatUint(n, 10) }
