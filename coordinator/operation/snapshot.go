package operation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// startSnapshot takes the snapshot which was asked for. Where no instance is left to take it of, there is none.
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

// snapshotPhases are those that all slots of a service go through together as a snapshot is taken: what is kept of one is of the
// time at which all held still.
func snapshotPhases(Case) []events.OperationPhase {
	return []events.OperationPhase{events.OperationHold, events.OperationExport}
}

// staleSnapshot reports whether the operation takes a snapshot of what the service is no more, or one that is not wanted, or that
// was asked for again since.
func staleSnapshot(s *projections.Service) bool {
	op, wanted := s.Operation, s.Snapshots.Wanted
	return s.Dropped || s.Suspension != nil || op.Revision != s.Revision || op.Total != int(s.Scale) || wanted == 0 || wanted > op.Started
}

// committed says that the snapshot is the last good one.
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

// failSnapshot ends a snapshot in which an instance has not done its part: the one before stays the last good one.
func failSnapshot(c Case, f failed) Step {
	step := Step{Told: c.ended(events.OperationAborted, f)}
	if c.Service.HoldsSnapshot(c.Cluster) {
		step.Reason, step.Message = events.ReasonSnapshotFailed, f.message
	}
	return step
}

// startSuspend has the service rest. Slots that it has no more take part, too: nothing is to be left.
func startSuspend(c Case) events.Data {
	if c.Service.Suspension == nil {
		return nil
	}
	return events.OperationStarted{Slots: slotsBelow(max(c.Service.Span(), uint32(len(c.Service.Slots))))}
}

// suspendPhases are those that all slots of a service go through together as it is suspended: what it holds is kept before anything of it
// stops.
func suspendPhases(c Case) []events.OperationPhase {
	if !c.Service.Current().Spec.Snapshots() || c.Service.Span() == 0 {
		return []events.OperationPhase{events.OperationRetire}
	}
	return append(snapshotPhases(c), events.OperationRetire)
}

// staleSuspension reports whether the service is not to rest by now.
func staleSuspension(s *projections.Service) bool { return s.Dropped || s.Suspension == nil }

// failSuspend ends a suspension in which an instance has not done its part: nothing was stopped, and the service goes on. Where it is
// only that something has not gone, the service rests all the same.
func failSuspend(c Case, f failed) Step {
	if c.Service.Resting() {
		return Step{Told: c.ended(events.OperationDone, f), Reason: events.ReasonStillThere, Message: f.message}
	}
	return Step{c.ended(events.OperationAborted, f), events.ReasonSuspendFailed, f.message, c.goOn()}
}

// goOn has a service rest no more of which nothing was stopped: what was to come before that has failed.
func (c Case) goOn() []events.Data {
	if s := c.Service; s.Suspension != nil && !s.Suspension.Stopped {
		return []events.Data{events.ServiceResumed{}}
	}
	return nil
}

// suspended has the command that suspended the service fail where it is not known whether all of it has gone: it is no success to
// have something rest that may run.
func suspended(c Case) (events.FailureReason, string) {
	var nodes []string
	for i := range c.Service.Instances() {
		nodes = append(nodes, i.Node)
	}
	if len(nodes) == 0 {
		return "", ""
	}
	slices.Sort(nodes)
	return events.ReasonStillThere, fmt.Sprintf("service %s rests, and what it had on %s may run still, as that is not heard: a slot comes back"+
		" once that is known to be gone", c.Service.ID, strings.Join(slices.Compact(nodes), ", "))
}
