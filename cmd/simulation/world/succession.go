package world

import (
	"slices"

	"github.com/rookery-project/rookery/events"
)

// serve follows whether a slot of the wave serves in what it is to get.
func (o operating) serve(i *instance, phase events.Phase) {
	if o.op == nil || !i.runs() || (!o.op.together() && !o.s.upToDate(i)) || !slices.Contains(o.op.slots, i.id.Ordinal) {
		return
	}
	if phase == events.PhaseOnline && !i.lost {
		o.op.serves[i.id.Ordinal] = o.j.at
	} else {
		delete(o.op.serves, i.id.Ordinal)
	}
}

// target is the revision that the slot's next instance is to have.
func (s *service) target(slot uint32) uint64 {
	if s.op != nil && s.op.from > 0 && s.op.revision == s.revision && slices.Contains(s.op.waiting, slot) {
		return s.op.from
	}
	return s.revision
}

// as judges with the revision that the slot's next instance is to have. Failures count of the service's own alone.
func (s *service) as(slot uint32, judged func()) {
	revision, failed := s.revision, s.failed
	if s.revision = s.target(slot); s.revision != revision {
		s.failed = nil
	}
	judged()
	s.revision, s.failed = revision, failed
}

// clears reports whether the slot is to have no instance before what it had is gone.
func (k *knowledge) clears(j *judge, id events.ServiceID, slot uint32) bool {
	o := k.operating(j, id)
	writes := func(i *instance) bool {
		return i.id.Ordinal == slot && !i.mustHaveEnded() && i.node == o.s.home(slot) && i.retired && i.seen.Phase < events.PhaseCompleted && volumes(o.s.specs[i.revision])
	}
	alone := func(i *instance) bool {
		next := o.s.specs[o.s.target(slot)]
		return i.id.Ordinal == slot && i.retired && !i.mustHaveEnded() && (next.Topology != nil || next.Exclusive)
	}
	if slices.ContainsFunc(k.of(id), writes) || slices.ContainsFunc(k.of(id), alone) {
		return true
	}
	return o.op != nil && !o.op.together() && o.op.paused.IsZero() && o.op.phase == events.OperationRetire && o.stopsFirst() && slices.Contains(o.op.slots, slot)
}

// beside judges a placement in a slot of a wave, whose instance of before runs on.
func (k *knowledge) besideBefore(j *judge, id events.InstanceID, d events.InstancePlaced) {
	o := k.operating(j, id.Service)
	before := k.instances[events.InstanceID{Service: id.Service, Ordinal: id.Ordinal, Generation: d.Replaces}]
	if before == nil || before.retired || o.s.upToDate(before) {
		o.breach("%s is to succeed generation %d, which is %s", id, d.Replaces, before)
	}
	for _, i := range k.of(id.Service) {
		if i.id.Ordinal == id.Ordinal && i.replaces > 0 && !i.retired {
			o.breach("%s is placed beside %s, which is to succeed, too", id, i.id)
		}
	}
	comes := o.op.phase == events.OperationStart || (o.op.phase == events.OperationPrepare && o.allOrNone())
	if !comes || !o.op.paused.IsZero() || o.stopsFirst() || !slices.Contains(o.op.slots, id.Ordinal) {
		o.breach("%s is placed in phase %s of slots %v", id, o.op.phase, o.op.slots)
	}
	k.leaves = before
	k.fitting(j, id, d, nil)
	k.explained(j, id, d)
	k.leaves = nil
	k.hold(j, id.Service, d)
}

// roomBeside reports whether a node could have the instance's successor beside it.
func (k *knowledge) roomBeside(i *instance) bool {
	k.leaves = i
	defer func() { k.leaves = nil }()
	return k.room(i.id.Service, i.id.Ordinal)
}

// hasNext reports whether the instance has one beside it that takes its slot.
func (k *knowledge) hasNext(i *instance) bool {
	return slices.ContainsFunc(k.of(i.id.Service), func(next *instance) bool {
		return next.id.Ordinal == i.id.Ordinal && next.replaces > 0 && !next.retired
	})
}

// replaced holds an instance of an earlier revision to go in the phase for it.
func (k *knowledge) replaced(j *judge, i *instance, reason events.RetireReason) {
	o := k.operating(j, i.id.Service)
	if o.s.isJob() || i.away || i.replaces > 0 || j.rereading || (reason != events.RetireRevised && reason != events.RetireMakesRoom) {
		return
	}
	phase := events.OperationRetire
	if reason == events.RetireMakesRoom {
		phase = events.OperationStart
	}
	if o.op == nil || o.op.together() || !slices.Contains(o.op.slots, i.id.Ordinal) || o.op.phase != phase || !o.op.paused.IsZero() {
		o.breach("%s is retired (%s) outside of its wave's phase", i.id, reason)
		return
	}
	own := k.against(i.id.Service, i.node, i) == ""
	switch room := k.room(i.id.Service, i.id.Ordinal); {
	case reason == events.RetireMakesRoom && (o.allOrNone() || k.roomBeside(i) || !own || o.stopsFirst()):
		o.breach("%s makes room for what has room beside it: %t, or not on its node: %t", i.id, room, own)
	case reason == events.RetireRevised && o.update().Strategy == events.UpdateRolling && !own && !k.hasNext(i) && (!room || !o.stopsFirst()):
		o.breach("%s goes, and nothing is there that follows, and no node could have what comes: %t", i.id, !room)
	}
}
