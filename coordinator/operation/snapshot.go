package operation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// startSnapshot starts the requested snapshot, and cancels it where the service has scale 0.
func startSnapshot(c Case) events.Data {
	switch s := c.Service; {
	case s.Snapshots.Wanted == 0:
		return nil
	case s.Scale == 0:
		return events.SnapshotCancelled{}
	default:
		return events.OperationStarted{Slots: slotsBelow(s.Scale)}
	}
}

// snapshotPhases are the phases of a snapshot: all instances hold still before the first one is exported.
func snapshotPhases(Case) []events.OperationPhase {
	return []events.OperationPhase{events.OperationHold, events.OperationExport}
}

// staleSnapshot reports whether the service changed since the snapshot started, or the request was cancelled or repeated.
func staleSnapshot(s *projections.Service) bool {
	op, wanted := s.Operation, s.Snapshots.Wanted
	return s.Dropped || s.Suspension != nil || op.Revision != s.Revision || op.Total != int(s.Scale) || wanted == 0 || wanted > op.Started
}

// committed returns the event that makes the snapshot the last good one.
func (c Case) committed() events.SnapshotCommitted {
	s := c.Service
	committed := events.SnapshotCommitted{
		Operation: s.Operation.Started, Version: s.Snapshots.Version + 1, Revision: s.Revision, Scale: s.Scale,
	}
	if s.Topology != nil {
		committed.ConfigVersion = s.Topology.ConfigVersion
	}
	return committed
}

// failSnapshot ends a snapshot in which an instance failed: the one before stays the last good one.
func failSnapshot(c Case, f failed) Step {
	step := Step{Told: c.ended(events.OperationAborted, f)}
	if c.Service.HoldsSnapshot(c.Cluster) {
		step.Reason, step.Message = events.ReasonSnapshotFailed, f.message
	}
	return step
}

// startSuspend starts to stop all instances of the service, those of dropped slots included.
func startSuspend(c Case) events.Data {
	if c.Service.Suspension == nil {
		return nil
	}
	return events.OperationStarted{Slots: slotsBelow(max(c.Service.Span(), uint32(len(c.Service.Slots))))}
}

// suspendPhases are the phases of a suspension: it takes a snapshot, where the service has state, before any instance stops.
func suspendPhases(c Case) []events.OperationPhase {
	if !c.Service.Current().Spec.Snapshots() || c.Service.Span() == 0 {
		return []events.OperationPhase{events.OperationRetire}
	}
	return append(snapshotPhases(c), events.OperationRetire)
}

// staleSuspension reports whether the service is dropped or resumed by now.
func staleSuspension(s *projections.Service) bool { return s.Dropped || s.Suspension == nil }

// failSuspend ends a suspension. Before its last phase no instance has stopped, and the service continues; in that phase the service stays
// suspended although an instance has not gone.
func failSuspend(c Case, f failed) Step {
	if c.Service.Suspended() {
		return Step{Told: c.ended(events.OperationDone, f), Reason: events.ReasonStillThere, Message: f.message}
	}
	return Step{c.ended(events.OperationAborted, f), events.ReasonSuspendFailed, f.message, c.goOn()}
}

// goOn resumes a service whose suspension failed before an instance stopped.
func (c Case) goOn() []events.Data {
	if s := c.Service; s.Suspension != nil && !s.Suspension.Stopped {
		return []events.Data{events.ServiceResumed{}}
	}
	return nil
}

// suspended fails the command where an instance on an unreachable node may still run: the suspension is then no success.
func suspended(c Case) (events.FailureReason, string) {
	var nodes []string
	for i := range c.Service.Instances() {
		nodes = append(nodes, i.Node)
	}
	if len(nodes) == 0 {
		return "", ""
	}
	slices.Sort(nodes)
	return events.ReasonStillThere, fmt.Sprintf("service %s is suspended, but instances on silent nodes may still run (%s): resume starts a slot"+
		" only once its old instance is known to be gone", c.Service.ID, strings.Join(slices.Compact(nodes), ", "))
}
