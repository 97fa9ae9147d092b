package projections

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// Snapshots are the snapshots of a service.
type Snapshots struct {
	// Wanted is the sequence of the open request for a snapshot; 0 for none.
	Wanted uint64 `json:",omitzero"`
	// Scheduled is when the last scheduled snapshot that began or was skipped was due. Before the first it is the start of the
	// schedule. It is zero without a schedule.
	Scheduled time.Time `json:",omitzero"`
	// Version is the version of the last snapshot. Kept are the kept snapshots, the newest last.
	Version uint64     `json:",omitzero"`
	Kept    []Snapshot `json:",omitempty"`
}

// Snapshot is the state of a service at one time.
type Snapshot struct {
	events.SnapshotCommitted
	At time.Time
	// Volumes are the exported contents of the volumes with state, by ordinal.
	Volumes map[uint32][]events.Export `json:",omitempty"`
}

// SnapshotDue returns when the next scheduled snapshot of the service is due; the zero time for never.
func (s *Service) SnapshotDue() time.Time {
	rules := s.Current().Spec.Snapshot
	if s.Dropped || s.Suspension != nil || rules == nil {
		return time.Time{}
	}
	return s.Snapshots.Scheduled.Add(time.Duration(rules.Every))
}

// HoldsSnapshot reports whether the command that holds the service asks for a snapshot.
func (s *Service) HoldsSnapshot(c *Cluster) bool {
	return s.Holder != 0 && c.Commands[s.Holder].Verb == events.ServiceSnapshot{}.Kind().Name
}

// AskOf returns what the present snapshot asks of the instance; nil for nothing.
func (s *Service) AskOf(i *Instance) *events.Ask {
	op := s.Operation
	if op == nil || !op.Kind.Snapshots() || i.Retired() != "" || !asksIn(op.Phase, s.Revisions[i.Revision].Spec) {
		return nil
	}
	return &events.Ask{Operation: op.Started, Phase: op.Phase, Version: s.Snapshots.Version + 1}
}

// asksIn reports whether instances with the spec have a part in the phase of a snapshot.
func asksIn(phase events.OperationPhase, spec events.Spec) bool {
	return spec.Hook(phase) != nil || (phase == events.OperationExport && len(spec.StateVolumes()) > 0)
}

// applySnapshot applies an event about a service's snapshots to the state.
func (c *Cluster) applySnapshot(r events.Record) bool {
	id, _ := r.Scope.Service()
	s := c.service(id)
	switch d := r.Data.(type) {
	case events.SnapshotRequested:
		s.Snapshots.Wanted = r.Sequence
		if !d.Scheduled.IsZero() {
			s.Snapshots.Scheduled = d.Scheduled
		}
	case events.SnapshotSkipped:
		s.Snapshots.Scheduled = d.Scheduled
	case events.SnapshotCancelled:
		s.Snapshots.Wanted = 0
	case events.SnapshotCommitted:
		kept := Snapshot{SnapshotCommitted: d, At: r.Time}
		if s.Operation != nil {
			kept.Volumes, s.Operation.Exports = s.Operation.Exports, nil // an instance that starts again after this does not belong to the snapshot
		}
		s.Snapshots.Version = d.Version
		if s.Suspension != nil {
			s.Suspension.Snapshot = d.Version
		}
		s.Snapshots.Kept = append(s.Snapshots.Kept, kept)
		if n := len(s.Snapshots.Kept); n > events.KeptSnapshots {
			s.Snapshots.Kept = append([]Snapshot(nil), s.Snapshots.Kept[n-events.KeptSnapshots:]...)
		}
	default:
		return false
	}
	return true
}

// enterSnapshot asks the instances for their part of the phase. In phase retire it marks a suspended service as stopped instead: its
// instances get orders to stop.
func (c *Cluster) enterSnapshot(r events.Record, s *Service) {
	if s.Operation.Phase != events.OperationRetire {
		c.ask(r, s)
		return
	}
	if s.Suspension != nil {
		s.Suspension.Stopped = true
	}
}

// ask counts a new order for each instance that must do something else from now on. An instance with an order of this round gets
// the request with that order.
func (c *Cluster) ask(r events.Record, s *Service) {
	for i := range s.Instances() {
		if i.Retired() == "" && i.Decided <= c.Sequence {
			n := c.node(i.Node)
			n.Orders++
			i.Decided, i.Counter = r.Sequence, n.Orders
		}
	}
}

// beginsAnew notes that an instance ended or became another process. The instance must then do its part of the present snapshot
// again.
func (s *Service) beginsAnew(i *Instance, to events.Position) {
	op := s.Operation
	if op == nil || !op.Kind.Snapshots() || i.Confirmed().Operation != op.Started {
		return
	}
	if to.Phase >= events.PhaseOffline || anotherProcess(i.Seen, to) {
		i.Answer = nil
		delete(op.Exports, i.ID.Ordinal)
	}
}

// anotherProcess reports whether the process at position to may be another one than the process at position from. A host that comes
// back empty counts attempts from 0 again. It creates the container again, which shows as an early phase. If the log has no report
// of that phase, at least one node epoch passed without a report.
func anotherProcess(from, to events.Position) bool {
	return to.Attempt != from.Attempt ||
		(to.Epoch != from.Epoch && (to.Phase < events.PhaseStarted || to.Epoch > from.Epoch+1))
}
