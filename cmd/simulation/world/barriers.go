package world

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// bound reports whether the slot must have its next instance on a node that takes none now.
func (o operating) bound(slot uint32) bool {
	for _, i := range o.k.of(o.id) {
		if i.id.Ordinal == slot && i.runs() && i.replaces == 0 {
			return ((o.s.specs[o.s.revision].Global() && !o.k.room(o.id, slot)) || o.s.home(slot) != "") && !o.k.ready(i.node)
		}
	}
	return false
}

// done reports whether the slot is done with the phase, and whether it has failed.
func (o operating) done(slot uint32) (done, failed bool) {
	op, u := o.op, o.update()
	if op.rescale != nil {
		return o.doneInRescale(slot)
	}
	switch op.kind {
	case events.OperationSnapshot:
		return o.doneInSnapshot(slot)
	case events.OperationSuspend:
		done, failed = o.doneInSuspension(slot)
		return done || op.givenUp[slot], failed
	case events.OperationUpdate, events.OperationRestart, events.OperationRollback, events.OperationRescale:
	}
	since := func(d events.Duration) bool { return o.j.at.Sub(op.entered) >= time.Duration(d) }
	serves, up := op.serves[slot]
	switch op.phase {
	case events.OperationPrepare:
		done, failed = o.made(slot), o.late()
	case events.OperationStart:
		done, failed = up && o.j.at.Sub(serves) >= time.Duration(*u.MinHealthy), o.late()
	case events.OperationRetire:
		done, failed = !o.remains(slot), o.late()
	case events.OperationMonitor:
		failed = !up || serves.After(op.entered)
		done = !failed && since(u.Monitor)
	case events.OperationPromote:
		done = op.promoted
	case events.OperationDelay:
		done = since(u.Delay)
	case events.OperationWait, events.OperationRelease, events.OperationAcquire, events.OperationHold, events.OperationExport:
	}
	return done || slot >= o.s.scale || op.givenUp[slot], failed
}

// made reports whether the slot has an instance of what it is to get that stands ready, or runs.
func (o operating) made(slot uint32) bool {
	return slices.ContainsFunc(o.k.of(o.id), func(i *instance) bool {
		return i.id.Ordinal == slot && i.runs() && o.s.upToDate(i) && i.seen.Phase >= events.PhasePrepared && i.seen.Phase <= events.PhaseOnline
	})
}

// remains reports whether something is left of what the slot had before, on a node that is heard.
func (o operating) remains(slot uint32) bool {
	return slices.ContainsFunc(o.k.of(o.id), func(i *instance) bool {
		return i.id.Ordinal == slot && !o.s.upToDate(i) && !i.away && (!i.retired || !o.k.machine(i.node).silent)
	})
}

// passes holds every slot of the wave to be done with the phase, but for those that have failed, as many as may.
func (o operating) passes(givenUp []uint32) {
	op := o.op
	if op.wave == 0 || op.phase == events.OperationWait {
		return
	}
	for _, slot := range op.slots {
		done, failed := o.done(slot)
		if gone := slices.Contains(givenUp, slot); !done && (!gone || !failed) {
			o.breach("phase %s of wave %d is over, and slot %d is not done", op.phase, op.wave, slot)
		}
	}
	for _, slot := range givenUp {
		op.givenUp[slot] = true
	}
	op.failed += len(givenUp)
	if op.rescale != nil {
		o.goesOn(givenUp)
		return
	}
	if op.phase != events.OperationRetire && op.snapshots() && len(givenUp) > 0 {
		o.breach("a snapshot goes on without slots %v", givenUp)
	}
	if op.snapshots() {
		return
	}
	if len(givenUp) > 0 && o.tooMany(0) && o.update().OnFailure != events.FailureContinue {
		o.breach("goes on after %d failed of %d", op.failed, op.total)
	}
}

// tooMany reports whether more slots than may have failed, with this many more.
func (o operating) tooMany(more int) bool {
	return float64(o.op.failed+more) > float64(o.update().MaxFailureRatio)*float64(o.op.total)
}

// fails holds slots to have failed, and to be too many.
func (o operating) fails(slots []uint32) {
	for _, slot := range slots {
		if done, failed := o.done(slot); done || !failed {
			o.breach("slot %d is said to have failed in phase %s", slot, o.op.phase)
		}
		if o.undone(slot) {
			o.breach("slot %d has failed in phase %s, and nothing was done for it", slot, o.op.phase)
		}
	}
	if !o.tooMany(len(slots)) {
		o.breach("%d failed of %d, and that is not too many", o.op.failed+len(slots), o.op.total)
	}
}

// leftBehind reports whether all waves are over, and these slots have kept what they had.
func (o operating) leftBehind(slots []uint32) bool {
	phases := o.phases()
	return len(o.op.waiting) == 0 && o.op.phase == phases[len(phases)-1] && slices.Equal(slices.Sorted(slices.Values(slots)), o.outdated())
}
