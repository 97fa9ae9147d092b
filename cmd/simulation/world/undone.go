package world

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// waitsForPeople reports whether the service's operation goes on once somebody says so.
func (s *service) waitsForPeople() bool {
	return s.op != nil && (!s.op.paused.IsZero() || s.waitsForPromotion())
}

// waitsForPromotion reports whether the service's canaries wait for somebody, and the command with them. What is asked of a
// service whose update is paused ends, as anything else does.
func (s *service) waitsForPromotion() bool {
	return s.op != nil && s.op.paused.IsZero() && s.op.phase == events.OperationPromote && !s.op.promoted
}

// stuck holds a leader to go on with an operation once its phase is over.
func (k *knowledge) stuck(j *judge, id events.ServiceID, epoch uint64, now time.Time) {
	o := k.operating(j, id)
	j.at = now
	over := o.op != nil && o.op.paused.IsZero() && !o.s.dropped
	if over && o.op.phase == events.OperationWait {
		over = slices.ContainsFunc(o.op.waiting, func(slot uint32) bool { return !o.bound(slot) })
	} else if over {
		for _, slot := range o.op.slots {
			done, failed := o.done(slot)
			over = over && (done || failed)
		}
	}
	o.leftUndone(epoch, now)
	o.overdueSnapshot(epoch, now)
	switch {
	case !over:
		if o.op != nil {
			o.op.late = late{}
		}
	case o.op.late.left(epoch, now):
		o.breach("stands in phase %s of wave %d, which is over, for %d rounds", o.op.phase, o.op.wave, o.op.late.rounds)
	}
}

// leftUndone holds a leader to do in a phase what is to be done in it.
func (o operating) leftUndone(epoch uint64, now time.Time) {
	if o.op == nil || o.op.together() {
		return
	}
	undone := slices.ContainsFunc(o.op.slots, o.undone)
	switch {
	case !undone || !o.op.paused.IsZero() || o.s.dropped:
		o.op.undone = late{}
	case o.op.undone.left(epoch, now):
		o.breach("in phase %s of wave %d something is left undone for %d rounds", o.op.phase, o.op.wave, o.op.undone.rounds)
	}
}

// undone reports whether the slot has an instance of before that could have a successor beside it, or is to go.
func (o operating) undone(slot uint32) bool {
	var before, next *instance
	for _, i := range o.k.of(o.id) {
		switch {
		case i.id.Ordinal != slot || !i.runs():
		case i.replaces > 0:
			next = i
		case !o.s.upToDate(i):
			before = i
		}
	}
	if before == nil || slot >= o.s.scale || o.op.givenUp[slot] {
		return false
	}
	own := o.k.against(o.id, before.node, before) == ""
	switch o.op.phase {
	case events.OperationStart, events.OperationPrepare:
		return !o.stopsFirst() && next == nil && ((own && !o.allOrNone()) || o.k.roomBeside(before))
	case events.OperationRetire:
		return next != nil || own || (o.stopsFirst() && o.k.room(o.id, slot)) || (o.stopsFirst() && o.update().Strategy != events.UpdateRolling)
	case events.OperationRelease, events.OperationAcquire, events.OperationHold, events.OperationExport,
		events.OperationMonitor, events.OperationPromote, events.OperationDelay, events.OperationWait:
	}
	return false
}
