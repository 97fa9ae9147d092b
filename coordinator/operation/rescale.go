package operation

import (
	"fmt"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/barrier"
)

// startRescale starts a change of the topology to the service's scale. It waits for outdated instances, since the new revision may repair what
// keeps them from following, but not where an earlier change was interrupted: that scale comes back under its own config version.
func startRescale(c Case) events.Data {
	s := c.Service
	if !s.Rescales() || (s.Topology.Change == nil && s.Suspension == nil && len(c.outdated()) > 0) {
		return nil
	}
	return events.OperationStarted{
		Slots:   slotsBelow(s.Span()),
		Rescale: &events.Rescale{From: s.Topology.Scale, To: s.Scale, ConfigVersion: s.Versions + 1, Back: c.goesBack()},
	}
}

func slotsBelow(n uint32) events.Ordinals {
	slots := make(events.Ordinals, 0, n)
	for o := range n {
		slots = append(slots, o)
	}
	return slots
}

// rescalePhases are the phases of a change of the topology, as for the partitions of a stream processor: all instances release what they give
// away before any instance acquires it.
func rescalePhases(Case) []events.OperationPhase {
	return []events.OperationPhase{
		events.OperationPrepare, events.OperationStart, events.OperationRelease, events.OperationAcquire, events.OperationRetire,
	}
}

// staleRescale reports whether the service now wants another topology than its operation brings.
func staleRescale(s *projections.Service) bool {
	return s.Dropped || s.Topology == nil || s.Operation.Rescale.To != s.Scale
}

// rescaleBroken reports whether the rescale stops because of the slots that failed.
func rescaleBroken(c Case, v barrier.Verdict) bool {
	return len(v.Broken) > 0 && (c.givesUp() || (c.Service.Operation.Rescale.Back && c.triesAgain()))
}

// givesUp reports whether a failed slot ends the rescale. It does not on the way back to the topology before, which has nothing to return to, nor
// once the new topology is in force.
func (c Case) givesUp() bool {
	s, r := c.Service, c.Service.Operation.Rescale
	return !r.Back && s.Topology.Scale != r.To && s.Current().Spec.Topology.OnFailure != events.RescaleContinue
}

// triesAgain reports whether a failed phase is retried: as the spec says, and always while a group returns to its earlier state.
func (c Case) triesAgain() bool {
	op := c.Service.Operation
	return (op.Rescale.Back || c.Service.Current().Spec.Topology.OnFailure == events.RescaleRetry) && op.Attempt < events.MaxRescaleAttempts
}

// failRescale retries the phase, or returns to the topology before.
func failRescale(c Case, f failed) Step {
	op := c.Service.Operation
	if c.triesAgain() {
		return Step{Told: []events.Data{c.Entered(events.OperationEntered{Wave: op.Wave, Phase: op.Phase, Attempt: op.Attempt + 1})}}
	}
	back := append(c.goOn(), events.ServiceScaled{Scale: c.Service.Topology.Scale})
	return Step{c.ended(events.OperationAborted, f), events.ReasonAborted, f.message, back}
}

func titleOfRescale(op *projections.Operation) string {
	return fmt.Sprintf("%s from %d to %d, attempt %d", op.Kind, op.Rescale.From, op.Rescale.To, op.Attempt)
}

// Topology returns what the instances are told of each other. An interrupted change stays until the next one.
func (c Case) Topology() events.Topology {
	s, op := c.Service, c.Service.Operation
	if s.Topology == nil {
		return events.Topology{ConfigVersion: s.Versions + 1, Scale: s.Scale}
	}
	next := *s.Topology
	switch {
	case op == nil || op.Rescale == nil:
	case op.Phase == events.OperationRelease || op.Phase == events.OperationAcquire:
		next.Change = &events.TopologyChange{
			Operation: op.Started, Attempt: op.Attempt, Phase: op.Phase, ConfigVersion: op.Rescale.ConfigVersion, Scale: op.Rescale.To,
			Slots: uint32(op.Total),
		}
	case op.Phase == events.OperationRetire:
		return events.Topology{ConfigVersion: op.Rescale.ConfigVersion, Scale: op.Rescale.To}
	}
	return next
}
