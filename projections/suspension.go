package projections

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Suspension is the progress of a service's suspension.
type Suspension struct {
	// Stopped says that the service's instances stop, or are gone: it runs again only after an operator resumes it. If a step fails
	// before that, the service runs on as before.
	Stopped bool `json:",omitzero"`
	// Snapshot is the version of the snapshot that the suspension took; 0 for none.
	Snapshot uint64 `json:",omitzero"`
}

// Resumption is how a suspended service was resumed.
type Resumption struct {
	// Resumed is the sequence of the event.
	Resumed uint64
	// Snapshot is the version of the snapshot from which nodes fill volumes with state; 0 for none.
	Snapshot uint64 `json:",omitzero"`
	// Named says that the operator named the snapshot, so that nodes fill the volumes of all slots. Otherwise they fill only the volumes
	// of slots that come to another node than the one with their volumes.
	Named bool `json:",omitzero"`
	// Filled says that at least one slot was placed with volumes to fill.
	Filled bool `json:",omitzero"`
	// Slots are the slots whose volumes may still need filling, as no node has reported an instance of them running since.
	Slots map[uint32]*Refill `json:",omitempty"`
}

// Refill is the content with which a node fills a slot's volumes with state.
type Refill struct {
	Volumes []events.Export
	// Placed says that the slot has had an instance since the service was resumed. The slot then stays on that instance's node.
	Placed bool `json:",omitzero"`
}

// Suspended reports whether the service is suspended, and must have no instance until it is resumed.
func (s *Service) Suspended() bool { return s.Suspension != nil && s.Suspension.Stopped }

// suspend notes that the service must be suspended. A service without instances is suspended at once.
func (s *Service) suspend(r events.Record) {
	s.Suspension = &Suspension{Stopped: s.total == 0 && !s.Rescales()}
	s.Changed, s.Snapshots.Wanted = r.Sequence, 0
}

// resume ends the suspension. If no instance was stopped, the service runs on as before.
func (s *Service) resume(r events.Record, d events.ServiceResumed) {
	before := s.Suspension
	s.Suspension, s.Changed = nil, r.Sequence
	if before == nil || !before.Stopped {
		return
	}
	if d.Snapshot > 0 || before.Snapshot > 0 { // otherwise an earlier resumption still applies to volumes that are not filled yet
		s.Resumption = s.resumption(r.Sequence, d.Snapshot, before.Snapshot)
	}
	if s.Snapshots.Scheduled = (time.Time{}); s.Current().Spec.Snapshot != nil {
		s.Snapshots.Scheduled = r.Time // snapshots that were due during the suspension are not missed
	}
	if s.Rescales() {
		s.Topology, s.Moved = nil, false // no instance serves by the old topology: the next one applies at once
	}
	if s.Good != nil {
		s.Good = &Good{Revision: s.Good.Revision, Scale: s.Scale}
	}
	s.renew()
	s.trim()
}

// resumption returns how the service is resumed: from the snapshot that the operator named, or else from the snapshot of the
// suspension, for the slots that need it.
func (s *Service) resumption(sequence, named, taken uint64) *Resumption {
	version := named
	if version == 0 {
		version = taken
	}
	from := s.Snapshots.Find(version)
	if from == nil {
		return nil
	}
	r := &Resumption{Resumed: sequence, Snapshot: version, Named: named > 0, Slots: map[uint32]*Refill{}}
	for ordinal, exports := range from.Volumes {
		if s.Wants(ordinal) && (int(ordinal) >= len(s.Slots) || s.Slots[ordinal].Current == nil) {
			r.Slots[ordinal] = &Refill{Volumes: exports}
		}
	}
	return r
}

// Find returns the kept snapshot of that version; nil for none.
func (s *Snapshots) Find(version uint64) *Snapshot {
	for i := range s.Kept {
		if s.Kept[i].Version == version {
			return &s.Kept[i]
		}
	}
	return nil
}

// Roams reports whether the slot's next instance may run on another node than the one with its volumes. That is so until an instance
// has been placed since the service was resumed, if the snapshot has the content of all volumes.
func (s *Service) Roams(ordinal uint32) bool {
	if s.Resumption == nil {
		return false
	}
	slot := s.Resumption.Slots[ordinal]
	if slot == nil || slot.Placed {
		return false
	}
	for _, v := range s.Revisions[s.Target(ordinal)].Spec.Volumes {
		if v.Kind == events.VolumeNamed && (!v.State || !slices.ContainsFunc(slot.Volumes, func(e events.Export) bool { return e.Volume == v.Name })) {
			return false
		}
	}
	return true
}

// refill notes the content for the volumes of an instance that is placed: those volumes of the spec that the snapshot has. If the
// instance returns to the node with its volumes, they stay as they are, unless the operator named the snapshot.
func (s *Service) refill(i *Instance) {
	r := s.Resumption
	if r == nil || r.Slots[i.ID.Ordinal] == nil {
		return
	}
	slot := r.Slots[i.ID.Ordinal]
	restore := &events.Restore{Resumed: r.Resumed, Snapshot: r.Snapshot}
	for _, v := range s.Revisions[i.Revision].Spec.Volumes {
		for _, e := range slot.Volumes {
			if v.Kind == events.VolumeNamed && e.Volume == v.Name {
				restore.Volumes = append(restore.Volumes, e)
			}
		}
	}
	if stays := !r.Named && !slot.Placed && s.Homes[i.ID.Ordinal] == i.Node; stays || len(restore.Volumes) == 0 {
		delete(r.Slots, i.ID.Ordinal)
		return
	}
	special := i.PlacedWith()
	special.Restore = restore
	i.special(special)
	slot.Placed, r.Filled = true, true
}

// runs notes that an instance runs. Its volumes hold its own data from then on, so no node fills them again.
func (s *Service) runs(i *Instance) {
	if s.Resumption != nil && i.Retired() == "" && (i.Seen.Phase == events.PhaseStarted || i.Seen.Phase == events.PhaseOnline) {
		delete(s.Resumption.Slots, i.ID.Ordinal)
	}
}

// resumedFrom returns the version of the snapshot that instances learn as their origin; 0 for none.
func (s *Service) resumedFrom() uint64 {
	if r := s.Resumption; r != nil && (r.Named || r.Filled) {
		return r.Snapshot
	}
	return 0
}
