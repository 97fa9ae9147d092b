package operation

import (
	"fmt"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/barrier"
)

// startRescale brings the topology which the scale asks for, once all is of its revision: what the next revision brings may be what keeps
// instances from following. Where a change was left in the middle, the same scale comes back under a config version of its own.
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

// rescalePhases are those that all slots of a service go through together as its topology becomes another, as the partitions of
// a stream processor do: what an instance gives away is released by all before any acquires it.
func rescalePhases(Case) []events.OperationPhase {
	return []events.OperationPhase{
		events.OperationPrepare, events.OperationStart, events.OperationRelease, events.OperationAcquire, events.OperationRetire,
	}
}

// staleRescale reports whether the service is to have another topology by now than its operation brings.
func staleRescale(s *projections.Service) bool {
	return s.Dropped || s.Topology == nil || s.Operation.Rescale.To != s.Scale
}

// rescaleBroken reports whether the rescale does not go on without the slots that have failed.
func rescaleBroken(c Case, v barrier.Verdict) bool {
	return len(v.Broken) > 0 && (c.givesUp() || (c.Service.Operation.Rescale.Back && c.triesAgain()))
}

// givesUp reports whether a rescale does not go on without those of its instances that do not get through. What brings the
// topology of before back does, as nothing is left to go back to, and so does one whose topology is in force.
func (c Case) givesUp() bool {
	s, r := c.Service, c.Service.Operation.Rescale
	return !r.Back && s.Topology.Scale != r.To && s.Current().Spec.Topology.OnFailure != events.RescaleContinue
}

// triesAgain reports whether a phase that failed is tried once more: as the spec says, and where it is taken back what a group has done.
func (c Case) triesAgain() bool {
	op := c.Service.Operation
	return (op.Rescale.Back || c.Service.Current().Spec.Topology.OnFailure == events.RescaleRetry) && op.Attempt < events.MaxRescaleAttempts
}

// failRescale tries the phase again, or has the topology of before come back.
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

// Topology returns what instances are to know of each other now. A change that was left in the middle stands until the next.
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
