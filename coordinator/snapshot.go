package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// snapshotPhases are those that all slots of a service go through together as a snapshot is taken: what is kept of one is of the
// time at which all held still.
func snapshotPhases(*projections.Service) []events.OperationPhase {
	return []events.OperationPhase{events.OperationHold, events.OperationExport}
}

// snapshot asks for a snapshot of the service.
func snapshot(s *projections.Service) ([]events.Data, error) {
	switch op := s.Operation; {
	case s.Dropped:
		return nil, gone(s)
	case !s.Current().Spec.Snapshots():
		return nil, events.Reject(events.CodeInvalidValue, "subject",
			"service %s has nothing that a snapshot could hold: give a volume of its spec \"state\":true, or add hooks.snapshot", s.ID)
	case s.Scale == 0:
		return nil, events.Reject(events.CodeInvalidValue, "subject", "service %s has scale 0, and a snapshot is of instances that run: scale it first", s.ID)
	case op != nil && op.Paused != "":
		return nil, events.Reject(events.CodeInvalidValue, "subject",
			"the %s of service %s is paused, and no snapshot is taken before that has ended: send its spec again to go on, or roll it back", op.Kind, s.ID)
	}
	return []events.Data{events.SnapshotRequested{}}, nil
}

// startSnapshot begins the operation that takes the snapshot which was asked for. Where no instance is left to take it of, there is
// none, and it reports false.
func (t *Turn) startSnapshot(s *projections.Service) bool {
	if s.Scale == 0 {
		t.emit(events.ServiceScope(s.ID), events.SnapshotCancelled{})
		return false
	}
	t.emit(events.ServiceScope(s.ID), events.OperationStarted{
		Operation: events.OperationSnapshot, Revision: s.Revision, Slots: slotsBelow(s.Scale),
	})
	return true
}

// staleSnapshot reports whether the operation takes a snapshot of what the service is no more, or one that nobody wants, or that
// was asked for again since.
func staleSnapshot(s *projections.Service) bool {
	op, wanted := s.Operation, s.Snapshots.Wanted
	return s.Dropped || s.Suspension != nil || op.Revision != s.Revision || op.Total != int(s.Scale) || wanted == 0 || wanted > op.Started
}

// answersSnapshot reports whether what the instance says counts for the snapshot that is taken. It serves, in the process that is
// known: what it did before it began anew counts for nothing. What it exports is all that there is to keep, and it held still before.
func (t *Turn) answersSnapshot(i *projections.Instance, s events.InstanceState) bool {
	spec := t.Cluster.Services[i.ID.Service].Revisions[i.Revision].Spec
	switch {
	case i.Seen.Phase != events.PhaseOnline || s.Attempt != i.Seen.Attempt:
		return false
	case s.Confirmed.Phase != events.OperationExport || s.Confirmed.Refused != "":
		return true
	case spec.Hook(events.OperationHold) != nil && i.Confirmed.Operation != s.Confirmed.Operation:
		return false
	}
	return slices.EqualFunc(s.Exports, spec.StateVolumes(), func(e events.Export, v events.Volume) bool { return e.Volume == v.Name })
}

// commitSnapshot says that the snapshot is the last good one.
func (t *Turn) commitSnapshot(s *projections.Service) {
	committed := events.SnapshotCommitted{
		Operation: s.Operation.Started, Version: s.Snapshots.Version + 1, Revision: s.Revision, Scale: s.Scale,
	}
	if s.Topology != nil {
		committed.ConfigVersion = s.Topology.ConfigVersion
	}
	t.emit(events.ServiceScope(s.ID), committed)
}

// failSnapshot ends a snapshot in which an instance has not done its part: the one before stays the last good one.
func failSnapshot(f failing) failure {
	ended := failure{told: f.ended(events.OperationAborted)}
	if f.service.HoldsSnapshot(f.cluster) {
		ended.reason = events.ReasonSnapshotFailed
	}
	return ended
}

// snapshotsDue asks for the snapshots that are due by specs, or leaves them out where something else happens to their service. Of
// several that were due, as after an outage, only the last counts.
func (t *Turn) snapshotsDue() {
	if t.Cluster.Recovering {
		return
	}
	for _, id := range slices.SortedFunc(maps.Keys(t.Cluster.Repeating()), events.ServiceID.Compare) {
		s := t.Cluster.Services[id]
		if !t.atService(events.WorkDue, id) {
			continue
		}
		due := s.SnapshotDue()
		if due.IsZero() || t.Now.Before(due) {
			continue
		}
		t.reserve(MaxPerInput)
		every := time.Duration(s.Current().Spec.Snapshot.Every)
		due = due.Add(t.Now.Sub(due).Truncate(every))
		t.cause = events.Cause{}
		if !s.Settled() || s.Operation != nil || t.Cluster.GroupOf(id) != nil || s.Scale == 0 || len(t.Cluster.Queues[id]) > 0 {
			t.emit(events.ServiceScope(id), events.SnapshotSkipped{Scheduled: due})
			continue
		}
		t.emit(events.ServiceScope(id), events.SnapshotRequested{Scheduled: due})
	}
}
