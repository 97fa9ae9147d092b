package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// snapshot asks for a snapshot of the service.
func snapshot(s *projections.Service) ([]events.Data, error) {
	switch op := s.Operation; {
	case s.Dropped:
		return nil, gone(s)
	case !s.Current().Spec.Snapshots():
		return nil, events.Reject(events.CodeInvalidValue, "subject",
			"service %s has no state for a snapshot to hold: give a volume of its spec \"state\":true, or add hooks.snapshot", s.ID)
	case s.Scale == 0:
		return nil, events.Reject(events.CodeInvalidValue, "subject",
			"service %s has scale 0, and a snapshot needs running instances: scale it first", s.ID)
	case op != nil && op.Paused != "":
		return nil, events.Reject(events.CodeInvalidValue, "subject",
			"the %s of service %s is paused, and a snapshot must wait until it ends: send its spec again to continue, or roll it back", op.Kind, s.ID)
	}
	return []events.Data{events.SnapshotRequested{}}, nil
}

// answersSnapshot reports whether the instance's answer counts for the snapshot that is under way. The instance must serve in
// the known process: an answer from before a restart does not count. It must have exported every volume with state, and have
// held still before.
func (t *Turn) answersSnapshot(i *projections.Instance, s events.InstanceState) bool {
	spec := t.Cluster.Services[i.ID.Service].Revisions[i.Revision].Spec
	switch {
	case i.Seen.Phase != events.PhaseOnline || s.Attempt != i.Seen.Attempt:
		return false
	case s.Confirmed.Phase != events.OperationExport || s.Confirmed.Refused != "":
		return true
	case spec.Hook(events.OperationHold) != nil && i.Confirmed().Operation != s.Confirmed.Operation:
		return false
	}
	return slices.EqualFunc(s.Exports, spec.StateVolumes(), func(e events.Export, v events.Volume) bool { return e.Volume == v.Name })
}

// snapshotsDue requests the snapshots that are due by specs, and skips those whose service is busy with something else. If
// several were due, as after an outage, only the last counts.
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
