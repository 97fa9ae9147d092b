package operation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/barrier"
)

// inWaves returns a kind that replaces instances wave by wave.
func inWaves(of events.OperationKind, because string) kind {
	starts := func(c Case) events.Data {
		slots := c.outdated()
		if len(slots) == 0 || c.replaces() != of {
			return nil
		}
		return events.OperationStarted{From: c.fallback(), Slots: slots}
	}
	return kind{of, starts, wavePhases, staleRevision, tooManyBroken, failWave, nil, titleOfWave, because}
}

// asked is the kind of operation that a command leads to, by its verb; an update for all other verbs.
var asked = map[string]events.OperationKind{
	events.ServiceRestart{}.Kind().Name:  events.OperationRestart,
	events.ServiceRollback{}.Kind().Name: events.OperationRollback,
	events.ServiceCancel{}.Kind().Name:   events.OperationRollback,
}

// replaces returns the kind of operation for the service's open command. Without a command the service returns to an earlier revision, or a
// coordinator before left it outdated.
func (c Case) replaces() events.OperationKind {
	s := c.Service
	goesBack := s.Holder != 0 && c.goesBack()
	if goesBack || (s.Holder == 0 && len(s.Current().Keeps) > 0) {
		return events.OperationRollback
	}
	if s.Holder == 0 {
		return events.OperationUpdate
	}
	return cmp.Or(asked[c.Cluster.Commands[s.Holder].Verb], events.OperationUpdate)
}

// goesBack reports whether the service's group returns it to its earlier state, or did when the group ended.
func (c Case) goesBack() bool {
	g := c.Cluster.GroupOf(c.Service.ID)
	return c.Service.TakesBack || (g != nil && g.Aborted != "")
}

// outdated returns the slots whose instance the revision replaces. Slots that do not serve come first: replacing them costs nothing.
func (c Case) outdated() events.Ordinals {
	s := c.Service
	if !s.Rolling() {
		return nil
	}
	var down, serve events.Ordinals
	for o, slot := range s.Slots {
		switch i := slot.Current; {
		case i == nil || s.UpToDate(i) || !s.Wants(uint32(o)) || s.Excused(uint32(o)):
		case i.Seen.Phase == events.PhaseOnline && !i.Lost && c.Cluster.Nodes[i.Node].Live():
			serve = append(serve, uint32(o))
		default:
			down = append(down, uint32(o))
		}
	}
	return append(down, serve...)
}

// fallback returns the last healthy revision, which slots keep until their wave; 0 for none.
func (c Case) fallback() uint64 {
	s := c.Service
	if s.Good == nil || s.Good.Revision == s.Revision {
		return 0
	}
	if r := s.Revisions[s.Good.Revision]; r == nil || r.Spec.Mode != s.Current().Spec.Mode {
		return 0
	}
	return s.Good.Revision
}

// wavePhases returns the phases of a wave that replaces instances. Canaries wait for their promotion even where no wave follows; the delay stands
// between waves.
func wavePhases(c Case) []events.OperationPhase {
	u, op, phases := c.update(), c.Service.Operation, c.replacing()
	if u.Promote == events.PromoteByCommand && op.Wave == 1 && op.Kind != events.OperationRollback {
		phases = append(phases, events.OperationPromote)
	}
	if u.Delay > 0 && len(op.Waiting) > 0 {
		phases = append(phases, events.OperationDelay)
	}
	return phases
}

// replacing returns the phases that replace the slots of a wave. Behind a barrier no predecessor stops before all successors are good.
func (c Case) replacing() []events.OperationPhase {
	spec, watched := &c.Service.Current().Spec, []events.OperationPhase(nil)
	if spec.Updates().Monitor > 0 {
		watched = append(watched, events.OperationMonitor)
	}
	switch {
	case spec.BehindBarrier():
		return slices.Concat([]events.OperationPhase{events.OperationPrepare, events.OperationStart}, watched, []events.OperationPhase{events.OperationRetire})
	case spec.StartsFirst():
		return append([]events.OperationPhase{events.OperationStart, events.OperationRetire}, watched...)
	}
	return append([]events.OperationPhase{events.OperationRetire, events.OperationStart}, watched...)
}

// staleRevision reports whether the service now wants another revision than its operation brings.
func staleRevision(s *projections.Service) bool {
	return s.Dropped || s.Suspension != nil || s.Operation.Revision != s.Revision
}

// tooManyBroken reports whether more slots of an update have failed than the spec tolerates.
func tooManyBroken(c Case, v barrier.Verdict) bool {
	u, op := c.update(), c.Service.Operation
	if len(v.Broken) == 0 || u.OnFailure == events.FailureContinue {
		return false
	}
	return float64(op.Failed+len(v.Broken)) > float64(u.MaxFailureRatio)*float64(op.Total)
}

// failWave returns to the last healthy revision or pauses, as the spec says. A rollback that fails pauses.
func failWave(c Case, f failed) Step {
	s, op := c.Service, c.Service.Operation
	over := s.Current().Spec.BehindBarrier() && op.Phase == events.OperationRetire // all successors are healthy, so there is nothing to go back for
	if c.update().OnFailure == events.FailureRollback && !over && op.Kind != events.OperationRollback && s.Good != nil {
		if back := GoBack(c.Cluster, s, s.Good.Revision, s.Good.Scale); len(back) > 0 {
			return Step{c.ended(events.OperationRolledBack, f), events.ReasonRolledBack, f.message, back}
		}
	}
	return c.pause(f)
}

func (c Case) pause(f failed) Step {
	paused := events.OperationPaused{Operation: c.Service.Operation.Started, GivenUp: f.slots, Message: f.message}
	return Step{Told: []events.Data{paused}, Reason: events.ReasonPaused, Message: f.message}
}

// Resume continues a paused operation. Behind a barrier it starts the wave's instances again that were lost while they were watched.
func (c Case) Resume() []events.Data {
	op := c.Service.Operation
	resumed := []events.Data{events.OperationResumed{Operation: op.Started}}
	if op.Phase == events.OperationMonitor && c.Service.Current().Spec.BehindBarrier() {
		resumed = append(resumed, c.Entered(events.OperationEntered{Wave: op.Wave, Phase: events.OperationStart}))
	}
	return resumed
}

func titleOfWave(op *projections.Operation) string {
	return fmt.Sprintf("%s to revision %d, wave %d", op.Kind, op.Revision, op.Wave)
}
