package coordinator

import (
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// wavePhases returns the phases of a wave that brings another revision. Canaries wait for their promotion also where no wave follows them; the
// delay goes between waves.
func wavePhases(s *projections.Service) []events.OperationPhase {
	phases := replacingPhases(s)
	u := s.Current().Spec.Updates()
	if u.Promote == events.PromoteByCommand && s.Operation.Wave == 1 && s.Operation.Kind != events.OperationRollback {
		phases = append(phases, events.OperationPromote)
	}
	if u.Delay > 0 && len(s.Operation.Waiting) > 0 {
		phases = append(phases, events.OperationDelay)
	}
	return phases
}

// replacingPhases returns the phases that replace the slots of a wave. Behind a barrier nothing goes before all that comes is good.
func replacingPhases(s *projections.Service) []events.OperationPhase {
	u, phases := s.Current().Spec.Updates(), []events.OperationPhase{events.OperationRetire, events.OperationStart}
	switch {
	case behindBarrier(s) && u.Monitor > 0:
		return []events.OperationPhase{events.OperationPrepare, events.OperationStart, events.OperationMonitor, events.OperationRetire}
	case behindBarrier(s):
		return []events.OperationPhase{events.OperationPrepare, events.OperationStart, events.OperationRetire}
	case startsFirst(s):
		phases = []events.OperationPhase{events.OperationStart, events.OperationRetire}
	}
	if u.Monitor > 0 {
		phases = append(phases, events.OperationMonitor)
	}
	return phases
}

// behindBarrier reports whether the next instances of all slots come before any of those before goes, or none does.
func behindBarrier(s *projections.Service) bool {
	return s.Current().Spec.Updates().Strategy == events.UpdateBarrier && startsFirst(s)
}

// nextPhase returns the one that follows in the wave; "" after the last, and where there is no wave.
func nextPhase(s *projections.Service) events.OperationPhase {
	phases := phasesOf(s)
	if i := slices.Index(phases, s.Operation.Phase); i >= 0 && i+1 < len(phases) {
		return phases[i+1]
	}
	return ""
}

// clears reports whether the slot's wave waits for what was before to be gone, ahead of what comes.
func clears(s *projections.Service, ordinal uint32) bool {
	op := s.Operation
	return op != nil && !op.Together() && op.Paused == "" && op.Phase == events.OperationRetire && !startsFirst(s) && slices.Contains(op.Slots, ordinal)
}

// startsFirst reports whether the next instance of a slot comes before the one before goes: as the spec says, unless the
// slot has one at a time, or there is one on a node at most.
func startsFirst(s *projections.Service) bool {
	spec := &s.Current().Spec
	return spec.Updates().Order == events.StartFirst && !spec.Global() && spec.Topology == nil && !spec.KeepsVolumes() && !spec.Exclusive
}
