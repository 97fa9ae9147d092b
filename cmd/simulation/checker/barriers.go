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
	// from is the revision that slots keep until their wave comes; 0 for the current one.
	from    uint64
	waiting []uint32 // slots whose wave has not come
	slots   []uint32 // slots of the present wave
	wave    uint32
	attempt uint32
	phase   events.OperationPhase
	entered time.Time
	// been holds the phases of the wave that this attempt has entered.
	been    map[events.OperationPhase]bool
	givenUp map[uint32]bool
	rescale *events.Rescale
	exports map[uint32][]events.Export
	// promoted says that an operator promoted the canaries, and paused that the operation stands still until an operator resumes it.
	promoted, paused bool
}

// keeps reports whether the operation stores the content of volumes.
func (op *operation) keeps() bool {
	return op.kind == events.OperationSnapshot || op.kind == events.OperationSuspend
}

// together reports whether all slots go through its phases at once. The checker then looks at the effects of the phases, and not at
// their order: no two slots serve one key, and each instance held still while its volumes were read for a snapshot.
func (op *operation) together() bool { return op.rescale != nil || op.keeps() }

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
		c.must(s.op.phase == events.OperationPromote, "P6", "%s is promoted in phase %s", id, s.op.phase)
		s.op.promoted = true
	case events.OperationPaused:
		s.op.paused = true
	case events.OperationResumed:
		c.must(s.op.paused, "P6", "the operation of %s is resumed, and was not paused", id)
		s.op.paused, s.op.entered, s.op.been = false, c.facts.at, map[events.OperationPhase]bool{}
	case events.OperationEnded:
		c.ends(s, d)
	}
}

func (c *Checker) starts(s *service, d events.OperationStarted) {
	c.must(s.op == nil && d.Revision == s.revision,
		"P6", "%s begins an operation to revision %d, but its revision is %d, or another operation runs", s.id, d.Revision, s.revision)
	c.must(s.suspended == (d.Operation == events.OperationSuspend) || d.Rescale != nil,
		"P6", "%s begins the operation %s, and is suspended: %t", s.id, d.Operation, s.suspended)
	s.op = &operation{
		sequence: c.facts.sequence, kind: d.Operation, revision: d.Revision, from: d.From, waiting: slices.Clone(d.Slots),
		rescale: d.Rescale, entered: c.facts.at, exports: map[uint32][]events.Export{},
	}
}

// enters checks that a phase begins in its order, and only once every slot is done with the phase before.
func (c *Checker) enters(s *service, d events.OperationEntered) {
	op := s.op
	again := d.Attempt > max(op.attempt, 1)
	c.must(d.Operation == op.sequence && !op.paused && d.Attempt >= op.attempt,
		"P6", "%s: operation %d enters %s in attempt %d, but operation %d runs in attempt %d, paused: %t",
		s.id, d.Operation, d.Phase, d.Attempt, op.sequence, op.attempt, op.paused)
	if again {
		c.must(d.Phase == op.phase && op.rescale != nil, "P6", "%s: phase %s is tried again as phase %s", s.id, op.phase, d.Phase)
		op.been = map[events.OperationPhase]bool{}
	} else {
		if comesBack := op.phase == events.OperationMonitor && d.Phase == events.OperationStart && len(op.been) == 0; !comesBack {
			c.barrier(s, d.GivenUp) // otherwise it continues after a pause, and the failed slots begin again
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

// inOrder checks that waves climb by one, and that within one each phase comes once.
func (c *Checker) inOrder(s *service, d events.OperationEntered) {
	op := s.op
	switch {
	case len(d.Slots) > 0:
		c.must(d.Wave == op.wave+1 && !slices.ContainsFunc(d.Slots, func(slot uint32) bool { return !slices.Contains(op.waiting, slot) }),
			"P6", "%s: wave %d of slots %v follows wave %d, and slots %v wait", s.id, d.Wave, d.Slots, op.wave, op.waiting)
	case d.Phase == events.OperationWait:
	case d.Wave != op.wave || op.been[d.Phase]:
		c.breach("P6", "%s: phase %s of wave %d follows phase %s of wave %d", s.id, d.Phase, d.Wave, op.phase, op.wave)
	}
	if op.been == nil {
		op.been = map[events.OperationPhase]bool{}
	}
}

// target is the revision that the slot's next instance must have.
func (s *service) target(slot uint32) uint64 {
	if s.op != nil && s.op.from > 0 && s.op.revision == s.revision && slices.Contains(s.op.waiting, slot) {
		return s.op.from
	}
	return s.revision
}

// excused reports whether an operation may continue without the slot: the service is global, and the slot's node is lost.
func (s *service) excused(slot uint32) bool {
	lost := func(i *instance) bool { return i.runs() && i.lost }
	return s.spec().Global() && slices.ContainsFunc(s.at(slot), lost)
}

func (c *Checker) ends(s *service, d events.OperationEnded) {
	op := s.op
	c.must(d.Operation == op.sequence, "P6", "%s: operation %d ends, but operation %d runs", s.id, d.Operation, op.sequence)
	if d.Outcome == events.OperationDone {
		c.barrier(s, d.GivenUp)
		waits := func(slot uint32) bool { return !s.excused(slot) }
		c.must(!slices.ContainsFunc(op.waiting, waits),
			"P6", "%s: the operation is done after phase %s, but slots %v still wait for their wave", s.id, op.phase, op.waiting)
		if op.kind == events.OperationSuspend {
			s.stopped = s.suspended
		}
	} else {
		delete(c.facts.wanted, s.id)
	}
	s.op = nil
}

// barrier checks that each slot of the wave has reached the end of the phase, except those that the coordinator gave up.
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
		c.must(op.givenUp[slot] || c.reached(s, slot),
			"P6", "%s: phase %s of wave %d is over, but slot %d is not done", s.id, op.phase, op.wave, slot)
	}
}

// reached reports whether the slot has done what the phase requires.
func (c *Checker) reached(s *service, slot uint32) bool {
	op, update := s.op, s.spec().Updates()
	if goes := op.rescale != nil && slot >= op.rescale.To; goes && (op.phase == events.OperationPrepare || op.phase == events.OperationStart) {
		return true
	}
	if op.phase != events.OperationPromote && !op.together() && (!s.wants(slot) || s.excused(slot)) {
		return true // the slot left the service, or the operation does not wait for it
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

// anyNext reports whether the slot has an instance of the kind that the operation brings, for which is returns true.
func (c *Checker) anyNext(s *service, slot uint32, is func(*instance) bool) bool {
	return slices.ContainsFunc(s.at(slot), func(i *instance) bool {
		return i.runs() && (s.op.together() || s.current(i)) && is(i)
	})
}

// standsIn reports whether another instance has the place of a lost one. The phase does not wait for the lost one then.
func (s *service) standsIn(lost *instance) bool {
	return lost.lost && slices.ContainsFunc(s.at(lost.id.Ordinal), func(i *instance) bool { return i.runs() && !i.lost && i.replaces == 0 })
}

func (c *Checker) servedFor(i *instance, least time.Duration) bool {
	return i.online() && c.facts.at.Sub(i.serves) >= least
}

// confirmed reports whether the instance has confirmed the phase, or needs no confirmation because its spec has no hook for it.
func (c *Checker) confirmed(s *service, i *instance) bool {
	op, spec := s.op, s.specs[i.revision]
	asked := spec.Hook(op.phase) != nil
	if op.phase == events.OperationExport {
		asked = len(spec.StateVolumes()) > 0
	}
	wanted := events.Confirmation{Operation: op.sequence, Attempt: op.attempt, Phase: op.phase}
	return !asked || i.answer == wanted || (i.answer.Operation == op.sequence && i.answer.Above(wanted))
}

// remains reports whether the phase waits for the instance to go. The coordinator does not wait for terminating instances on a silent node.
func (c *Checker) remains(s *service, i *instance) bool {
	goes := !s.current(i)
	if s.op.rescale != nil {
		goes = i.id.Ordinal >= s.op.rescale.To
	} else if s.op.kind == events.OperationSuspend {
		goes = true
	}
	return goes && !i.lost && (i.runs() || !c.machine(i.node).silent)
}

// group is several services that one command changes together, stage by stage.
type group struct {
	id      events.GroupID
	members map[events.ServiceID]bool
	stages  [][]string
	stage   uint32
	// aborted says that all members return to their earlier revisions.
	aborted, ended bool
}

// holds reports whether the group has the service. There may be no group.
func (g *group) holds(id events.ServiceID) bool { return g != nil && !g.ended && g.members[id] }

// group checks an event of a group: a stage begins once all services of the stages before have settled.
func (c *Checker) group(id events.GroupID, d events.Data) {
	switch d := d.(type) {
	case events.GroupStarted:
		c.groupStarts(id, d)
	case events.GroupEntered:
		c.groupEnters(c.facts.groups[d.Command], d)
	case events.GroupAborted:
		if g := c.facts.groups[d.Command]; g == nil || g.ended || g.aborted {
			c.breach("groups", "group %s is aborted, but it goes back already or has ended", id)
		} else {
			g.aborted = true
		}
	case events.GroupEnded:
		c.groupEnds(c.facts.groups[d.Command], id, d)
	}
}

func (c *Checker) groupStarts(id events.GroupID, d events.GroupStarted) {
	g := &group{id: id, members: map[events.ServiceID]bool{}, stages: d.Stages}
	for name := range d.Services {
		member := id.Member(name)
		c.alone(d.Command, member)
		delete(c.facts.wanted, member)
		g.members[member] = true
	}
	c.facts.groups[d.Command] = g
}

func (c *Checker) groupEnters(g *group, d events.GroupEntered) {
	if g == nil || g.ended {
		c.breach("groups", "a group that has ended enters stage %d", d.Stage)
		return
	}
	inOrder := d.Stage >= 1 && int(d.Stage) <= len(g.stages) && (d.Back || d.Stage == g.stage+1)
	if d.Back != g.aborted || !inOrder {
		c.breach("groups", "group %s enters stage %d, back: %t, after stage %d of %d, aborted: %t", g.id, d.Stage, d.Back, g.stage, len(g.stages), g.aborted)
		return
	}
	if !d.Back {
		c.reachedAll(g)
	}
	for _, name := range d.Services {
		delete(c.facts.wanted, g.id.Member(name))
	}
	g.stage = d.Stage
}

// reachedAll checks that every service of the stages so far has settled.
func (c *Checker) reachedAll(g *group) {
	for _, stage := range g.stages[:g.stage] {
		for _, name := range stage {
			s := c.facts.services[g.id.Member(name)]
			if s == nil {
				continue // it was dropped, and is gone
			}
			why := c.unsettled(s)
			c.must(why == "", "groups", "group %s continues after stage %d, but %s", g.id, g.stage, why)
		}
	}
}

func (c *Checker) groupEnds(g *group, id events.GroupID, d events.GroupEnded) {
	if g == nil || g.ended {
		c.breach("groups", "group %s ends as %s, but has ended before", id, d.Outcome)
		return
	}
	g.ended = true
	for member := range g.members {
		delete(c.facts.wanted, member)
	}
	if d.Outcome != events.GroupDone {
		return
	}
	c.must(!g.aborted && int(g.stage) == len(g.stages),
		"groups", "group %s is done in stage %d of %d, aborted: %t", id, g.stage, len(g.stages), g.aborted)
	c.reachedAll(g)
}
