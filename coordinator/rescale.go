package coordinator

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/barrier"
)

// rescalePhases are those that all slots of a service go through together as its topology becomes another, as the partitions of
// a stream processor do: what an instance gives away is released by all before any acquires it.
func rescalePhases(*projections.Service) []events.OperationPhase {
	return []events.OperationPhase{
		events.OperationPrepare, events.OperationStart, events.OperationRelease, events.OperationAcquire, events.OperationRetire,
	}
}

// staleRescale reports whether the service is to have another topology by now than its operation brings.
func staleRescale(s *projections.Service) bool {
	return s.Dropped || s.Topology == nil || s.Operation.Rescale.To != s.Scale
}

// rescaleBroken reports whether the rescale does not go on without the slots that have failed.
func rescaleBroken(s *projections.Service, v barrier.Verdict) bool {
	return len(v.Broken) > 0 && (givesUp(s) || (s.Operation.Rescale.Back && triesAgain(s)))
}

// startRescale begins the operation that brings the topology which the scale asks for. Where a change was left in the middle,
// the same scale comes back under a config version of its own.
func (t *Turn) startRescale(s *projections.Service) {
	t.emit(events.ServiceScope(s.ID), events.OperationStarted{
		Operation: events.OperationRescale, Revision: s.Revision, Slots: slotsBelow(s.Span()),
		Rescale: &events.Rescale{From: s.Topology.Scale, To: s.Scale, ConfigVersion: s.Versions + 1, Back: t.goesBack(s)},
	})
}

func slotsBelow(n uint32) events.Ordinals {
	slots := make(events.Ordinals, 0, n)
	for o := range n {
		slots = append(slots, o)
	}
	return slots
}

// givesUp reports whether a rescale does not go on without those of its instances that do not get through. What brings the
// topology of before back does, as nothing is left to go back to, and so does one whose topology is in force.
func givesUp(s *projections.Service) bool {
	return !s.Operation.Rescale.Back && s.Topology.Scale != s.Operation.Rescale.To && s.Current().Spec.Topology.OnFailure != events.RescaleContinue
}

// triesAgain reports whether a phase that failed is tried once more: as the spec says, and where it is taken back what a group has done.
func triesAgain(s *projections.Service) bool {
	op := s.Operation
	return (op.Rescale.Back || s.Current().Spec.Topology.OnFailure == events.RescaleRetry) && op.Attempt < events.MaxRescaleAttempts
}

// failRescale tries the phase again, or has the topology of before come back.
func failRescale(f failing) failure {
	s, op := f.service, f.service.Operation
	if triesAgain(s) {
		return failure{told: entered(s, f.now, events.OperationEntered{Wave: op.Wave, Phase: op.Phase, Attempt: op.Attempt + 1})}
	}
	return failure{f.ended(events.OperationAborted), events.ReasonAborted, append(goOn(s), events.ServiceScaled{Scale: s.Topology.Scale})}
}

// tell says what the service's instances are told of each other from now on, where that is news, and reports whether it was.
func (t *Turn) tell(s *projections.Service) bool {
	if s.Current().Spec.Topology == nil || s.Resting() {
		return false
	}
	next := topologyOf(s)
	if s.Topology != nil && !s.Moved && s.Topology.Equal(next) {
		return false
	}
	t.emit(events.ServiceScope(s.ID), events.TopologyChanged{Topology: next})
	return true
}

// topologyOf returns the topology that instances are to know now. A change that was left in the middle stands until the next.
func topologyOf(s *projections.Service) events.Topology {
	if s.Topology == nil {
		return events.Topology{ConfigVersion: s.Versions + 1, Scale: s.Scale}
	}
	op, next := s.Operation, *s.Topology
	if op == nil || op.Rescale == nil {
		return next
	}
	switch op.Phase {
	case events.OperationRelease, events.OperationAcquire:
		next.Change = &events.TopologyChange{
			Operation: op.Started, Attempt: op.Attempt, Phase: op.Phase, ConfigVersion: op.Rescale.ConfigVersion, Scale: op.Rescale.To,
			Slots: uint32(op.Total),
		}
	case events.OperationRetire:
		return events.Topology{ConfigVersion: op.Rescale.ConfigVersion, Scale: op.Rescale.To}
	case events.OperationPrepare, events.OperationStart, events.OperationMonitor, events.OperationPromote, events.OperationDelay, events.OperationWait,
		events.OperationHold, events.OperationExport:
	}
	return next
}
