package checker

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// operation is a change of a service that goes through phases.
type operation struct {
	sequence uint64
	kind     events.OperationKind
	revision uint64
	// from is the revision that slots have until their wave; 0 for the current one.
	from    uint64
	waiting []uint32 // whose wave has not come
	slots   []uint32 // of the present wave
	wave    uint32
	attempt uint32
	phase   events.OperationPhase
	entered time.Time
	// been are the phases of the wave that were entered, in this attempt.
	been    map[events.OperationPhase]bool
	givenUp map[uint32]bool
	rescale *events.Rescale
	exports map[uint32][]events.Export
	// promoted says that an operator said so, and paused that it stands still until one does.
	promoted, paused bool
}

// keeps reports whether the operation keeps what volumes hold.
func (op *operation) keeps() bool {
	return op.kind == events.OperationSnapshot || op.kind == events.OperationSuspend
}

// together are the phases of the operations whose slots all go together, in order.
func (op *operation) together() []events.OperationPhase {
	switch {
	case op.rescale != nil:
		return []events.OperationPhase{
			events.OperationPrepare, events.OperationStart, events.OperationRelease, events.OperationAcquire, events.OperationRetire,
		}
	case op.kind == events.OperationSnapshot:
		return []events.OperationPhase{events.OperationHold, events.OperationExport}
	case op.kind == events.OperationSuspend:
		return []events.OperationPhase{events.OperationHold, events.OperationExport, events.OperationRetire}
	}
	return nil
}

// operates checks an event of a service's operation.
func (c *Checker) operates(id events.ServiceID, d events.Data) {
	s := c.service(id)
	if d, starts := d.(events.OperationStarted); starts {
		c.starts(s, d)
		return
	}
	if s.op == nil {
		c.breach("P6", "%s: %s without an operation", id, d.Kind().Name)
		return
	}
	switch d := d.(type) {
	case events.OperationEntered:
		c.enters(s, d)
	case events.OperationPromoted:
		if s.op.phase != events.OperationPromote {
			c.breach("P6", "%s is promoted in phase %s", id, s.op.phase)
		}
		s.op.promoted = true
	case events.OperationPaused:
		c.failed(s, d.GivenUp)
		s.op.paused = true
	case events.OperationResumed:
		if !s.op.paused {
			c.breach("P6", "the operation of %s goes on, and was not paused", id)
		}
		s.op.paused, s.op.entered, s.op.been = false, c.facts.at, map[events.OperationPhase]bool{}
	case events.OperationEnded:
		c.ends(s, d)
	}
}

func (c *Checker) starts(s *service, d events.OperationStarted) {
	switch r := d.Rescale; {
	case s.op != nil:
		c.breach("P6", "%s has two operations at once", s.id)
	case d.Operation == events.OperationSuspend && !s.suspended, d.Operation != events.OperationSuspend && s.suspended && r == nil:
		c.breach("P6", "%s begins to %s, and is suspended: %t", s.id, d.Operation, s.suspended)
	case d.Revision != s.revision:
		c.breach("P6", "%s begins an operation to revision %d, and is to have revision %d", s.id, d.Revision, s.revision)
	case r != nil && (s.topology == nil || r.From != s.topology.Scale || r.To != s.scale || r.ConfigVersion <= s.versions):
		c.breach("P6", "%s begins a rescale %+v of scale %d, after config version %d", s.id, *r, s.scale, s.versions)
	}
	s.op = &operation{
		sequence: c.facts.sequence, kind: d.Operation, revision: d.Revision, from: d.From, waiting: slices.Clone(d.Slots),
		rescale: d.Rescale, entered: c.facts.at, exports: map[uint32][]events.Export{},
	}
}

// enters checks that a phase begins in its order, and only once every slot of the phase before is done with that.
func (c *Checker) enters(s *service, d events.OperationEntered) {
	op := s.op
	again := d.Attempt > max(op.attempt, 1)
	if d.Operation != op.sequence || op.paused || d.Attempt < op.attempt {
		c.breach("P6", "%s: operation %d enters %s in attempt %d, and it is %d in attempt %d, paused: %t",
			s.id, d.Operation, d.Phase, d.Attempt, op.sequence, op.attempt, op.paused)
	}
	if again {
		if d.Phase != op.phase || op.rescale == nil {
			c.breach("P6", "%s: phase %s is tried again as phase %s", s.id, op.phase, d.Phase)
		}
		op.been = map[events.OperationPhase]bool{}
	} else {
		if comesBack := op.phase == events.OperationMonitor && d.Phase == events.OperationStart && len(op.been) == 0; !comesBack {
			c.barrier(s, d.GivenUp) // else it goes on after a pause, and what had failed begins again
		}
		c.inOrder(s, d)
	}
	if len(d.Slots) > 0 {
		op.slots, op.wave, op.been, op.givenUp = d.Slots, d.Wave, map[events.OperationPhase]bool{}, map[uint32]bool{}
		op.waiting = slices.DeleteFunc(op.waiting, func(slot uint32) bool { return slices.Contains(d.Slots, slot) })
	}
	op.phase, op.attempt, op.entered = d.Phase, d.Attempt, c.facts.at
	op.been[d.Phase] = true
	if op.kind == events.OperationSuspend && d.Phase == events.OperationRetire {
		s.stopped = true
	}
}

// inOrder checks that waves climb by one, and that within one no phase comes twice or out of its order.
func (c *Checker) inOrder(s *service, d events.OperationEntered) {
	op := s.op
	switch phases := op.together(); {
	case len(d.Slots) > 0:
		if d.Wave != op.wave+1 || slices.ContainsFunc(d.Slots, func(slot uint32) bool { return !slices.Contains(op.waiting, slot) }) {
			c.breach("P6", "%s: wave %d of slots %v follows wave %d, and %v wait", s.id, d.Wave, d.Slots, op.wave, op.waiting)
		}
	case d.Phase == events.OperationWait:
		c.waits(s)
	case d.Wave != op.wave || op.been[d.Phase]:
		c.breach("P6", "%s: phase %s of wave %d follows phase %s of wave %d", s.id, d.Phase, d.Wave, op.phase, op.wave)
	case phases != nil && slices.Index(phases, d.Phase) != slices.Index(phases, op.phase)+1:
		c.breach("P6", "%s: phase %s follows phase %s", s.id, d.Phase, op.phase)
	}
	if op.been == nil {
		op.been = map[events.OperationPhase]bool{}
	}
}

// waits checks that each slot whose wave has not come is bound to a node which takes no instances now: that is what the phase is for.
func (c *Checker) waits(s *service) {
	for _, slot := range s.op.waiting {
		for _, i := range s.at(slot) {
			bound := s.spec().Global() || (s.homes[slot] != "" && s.specs[s.target(slot)].KeepsVolumes())
			if i.runs() && i.replaces == 0 && (!bound || c.facts.takesInstances(i.node)) {
				c.breach("P6", "%s: slot %d waits for its node, and is bound to none that takes no instances", s.id, slot)
			}
		}
	}
}

// target is the revision that the slot's next instance is to have.
func (s *service) target(slot uint32) uint64 {
	if s.op != nil && s.op.from > 0 && s.op.revision == s.revision && slices.Contains(s.op.waiting, slot) {
		return s.op.from
	}
	return s.revision
}

// excused reports whether an operation may go on without the slot: it is of a global service, and its node is lost.
func (s *service) excused(slot uint32) bool {
	lost := func(i *instance) bool { return i.runs() && i.lost }
	return s.spec().Global() && slices.ContainsFunc(s.at(slot), lost)
}

func (c *Checker) ends(s *service, d events.OperationEnded) {
	op := s.op
	if d.Operation != op.sequence {
		c.breach("P6", "%s: operation %d ends, and it is %d", s.id, d.Operation, op.sequence)
	}
	if d.Outcome == events.OperationDone {
		c.barrier(s, d.GivenUp)
		phases := op.together()
		has := func(slot uint32) bool { return s.wants(slot) || op.rescale != nil } // other slots have left the operation
		waits := func(slot uint32) bool { return !s.excused(slot) }
		if slices.ContainsFunc(op.waiting, waits) || (len(phases) > 0 && slices.ContainsFunc(op.slots, has) && op.phase != phases[len(phases)-1]) {
			c.breach("P6", "%s: the operation is done after phase %s, and %v wait", s.id, op.phase, op.waiting)
		}
		if op.kind == events.OperationSuspend {
			s.stopped = s.suspended
		}
	} else {
		c.failed(s, d.GivenUp)
		c.wantsNoMore(s.id)
	}
	s.op = nil
}

// barrier checks that each slot of the wave has reached the end of the phase, but for those that are given up.
func (c *Checker) barrier(s *service, givenUp []uint32) {
	op := s.op
	if op.wave == 0 || op.phase == events.OperationWait {
		return
	}
	for _, slot := range givenUp {
		op.givenUp[slot] = true
		s.shares = s.shares || op.rescale != nil
	}
	for _, slot := range op.slots {
		if !op.givenUp[slot] && !c.reached(s, slot) {
			c.breach("P6", "%s: phase %s of wave %d is over, and slot %d is not done", s.id, op.phase, op.wave, slot)
		}
	}
}

// reached reports whether the slot has done what the phase asks of it.
func (c *Checker) reached(s *service, slot uint32) bool {
	op, update := s.op, s.spec().Updates()
	if goes := op.rescale != nil && slot >= op.rescale.To; goes && (op.phase == events.OperationPrepare || op.phase == events.OperationStart) {
		return true
	}
	if op.phase != events.OperationPromote && len(op.together()) == 0 && (!s.wants(slot) || s.excused(slot)) {
		return true // the slot left the service, or nobody waits for it
	}
	switch op.phase {
	case events.OperationPrepare:
		return c.anyNext(s, slot, func(i *instance) bool {
			return i.seen.Phase >= events.PhasePrepared && i.seen.Phase <= events.PhaseOnline
		})
	case events.OperationStart:
		return c.anyNext(s, slot, func(i *instance) bool { return c.servedFor(i, time.Duration(*update.MinHealthy)) })
	case events.OperationMonitor:
		return c.anyNext(s, slot, func(i *instance) bool { return c.servedFor(i, time.Duration(update.Monitor)) })
	case events.OperationRelease, events.OperationAcquire, events.OperationHold, events.OperationExport:
		return !slices.ContainsFunc(s.at(slot), func(i *instance) bool {
			return i.runs() && i.replaces == 0 && !s.standsIn(i) && !c.confirmed(s, i)
		})
	case events.OperationRetire:
		return !slices.ContainsFunc(s.at(slot), func(i *instance) bool { return c.remains(s, i) })
	case events.OperationPromote:
		return op.promoted
	case events.OperationDelay:
		return c.facts.at.Sub(op.entered) >= time.Duration(update.Delay)
	case events.OperationWait:
	}
	return true
}

// anyNext reports whether the slot has an instance as the operation is to bring it, of which that is true.
func (c *Checker) anyNext(s *service, slot uint32, is func(*instance) bool) bool {
	return slices.ContainsFunc(s.at(slot), func(i *instance) bool {
		return i.runs() && (len(s.op.together()) > 0 || s.current(i)) && is(i)
	})
}

// standsIn reports whether another instance has the place of one that is lost: the phase does not wait for that one.
func (s *service) standsIn(lost *instance) bool {
	return lost.lost && slices.ContainsFunc(s.at(lost.id.Ordinal), func(i *instance) bool { return i.runs() && !i.lost && i.replaces == 0 })
}

func (c *Checker) servedFor(i *instance, least time.Duration) bool {
	return i.online() && c.facts.at.Sub(i.serves) >= least
}

// confirmed reports whether the instance has confirmed the phase, where its spec has it asked.
func (c *Checker) confirmed(s *service, i *instance) bool {
	op, spec := s.op, s.specs[i.revision]
	asked := spec.Hook(op.phase) != nil
	if op.phase == events.OperationExport {
		asked = len(spec.StateVolumes()) > 0
	}
	wanted := events.Confirmation{Operation: op.sequence, Attempt: op.attempt, Phase: op.phase}
	return !asked || i.answer == wanted || (i.answer.Operation == op.sequence && i.answer.Above(wanted))
}

// remains reports whether the instance is one that the phase has go, and is not gone. One that is to stop on a silent node is not
// waited for.
func (c *Checker) remains(s *service, i *instance) bool {
	goes := !s.current(i)
	if s.op.rescale != nil {
		goes = i.id.Ordinal >= s.op.rescale.To
	} else if s.op.kind == events.OperationSuspend {
		goes = true
	}
	return goes && !i.lost && (i.runs() || !c.machine(i.node).silent)
}
