package projections

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// Snapshots are those of a service.
type Snapshots struct {
	// Wanted is the sequence of the request for the one that is to be taken; 0 for none.
	Wanted uint64 `json:",omitzero"`
	// Scheduled is when the last one was due that was begun or left out, or since when they are to be taken by themselves; zero
	// where they are not.
	Scheduled time.Time `json:",omitzero"`
	// Version is that of the last one, and Kept are those that are kept, the last one last.
	Version uint64     `json:",omitzero"`
	Kept    []Snapshot `json:",omitempty"`
}

// Snapshot is what a service held at a time.
type Snapshot struct {
	events.SnapshotCommitted
	At time.Time
	// Volumes are what the volumes with state held, by ordinal.
	Volumes map[uint32][]events.Export `json:",omitempty"`
}

// SnapshotDue returns when the next snapshot of the service is due by its spec; the zero time for never.
func (s *Service) SnapshotDue() time.Time {
	rules := s.Current().Spec.Snapshot
	if s.Dropped || s.Suspension != nil || rules == nil {
		return time.Time{}
	}
	return s.Snapshots.Scheduled.Add(time.Duration(rules.Every))
}

// HoldsSnapshot reports whether the command that the service works for asks for a snapshot.
func (s *Service) HoldsSnapshot(c *Cluster) bool {
	return s.Holder != 0 && c.Commands[s.Holder].Verb == events.ServiceSnapshot{}.Kind().Name
}

// AskOf returns what the instance is asked for the snapshot that is taken; nil for nothing.
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

// applySnapshot takes an event of a service's snapshots into the state.
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
			kept.Volumes, s.Operation.Exports = s.Operation.Exports, nil // what begins anew from here on is no part of it
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

// enterSnapshot has the instances be asked what the phase is for. Those that are to go get an order for that.
func (c *Cluster) enterSnapshot(r events.Record, s *Service) {
	if s.Operation.Phase != events.OperationRetire {
		c.ask(r, s)
		return
	}
	if s.Suspension != nil {
		s.Suspension.Stopped = true
	}
}

// ask counts an order for each instance that is asked something else from here on. Those whose orders are of this round are asked
// with these.
func (c *Cluster) ask(r events.Record, s *Service) {
	for i := range s.Instances() {
		if i.Retired() == "" && i.Decided <= c.Sequence {
			n := c.node(i.Node)
			n.Orders++
			i.Decided, i.Counter = r.Sequence, n.Orders
		}
	}
}

// beginsAnew follows an instance that ends or is another process than before: what it did for the snapshot that is taken, it does
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

// anotherProcess reports whether what is seen at to may be another process than what was seen at from. A host that comes back empty
// counts attempts from 0 again: there the container is made anew, and where nobody heard of that, an epoch went by unheard.
func anotherProcess(from, to events.Position) bool {
	return to.Attempt != from.Attempt ||
		(to.Epoch != from.Epoch && (to.Phase < events.PhaseStarted || to.Epoch > from.Epoch+1))
}
