package projections

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Suspension is that of a service which shall rest.
type Suspension struct {
	// Stopped says that its instances go, or are gone: from here on it has to be resumed to run again. Before, it runs on as it did
	// where something fails.
	Stopped bool `json:",omitzero"`
	// Snapshot is the version of the one that was taken for it; 0 for none.
	Snapshot uint64 `json:",omitzero"`
}

// Resumption is how a service came back that was suspended.
type Resumption struct {
	// Resumed is the sequence of the event.
	Resumed uint64
	// Snapshot is the version of the one that volumes with state are filled from; 0 for none.
	Snapshot uint64 `json:",omitzero"`
	// Named says that those of all slots are, and not only of slots that come elsewhere than where their volumes are.
	Named bool `json:",omitzero"`
	// Filled says that a slot has come with volumes that are filled.
	Filled bool `json:",omitzero"`
	// Slots are those whose volumes may have to be filled, as none of their instances has been seen to run since.
	Slots map[uint32]*Refill `json:",omitempty"`
}

// Refill is what a slot's volumes with state are to hold, where they are filled.
type Refill struct {
	Volumes []events.Export
	// Placed says that the slot has had an instance since: it stays on the node of that.
	Placed bool `json:",omitzero"`
}

// Resting reports whether the service is to have no instance until it is resumed.
func (s *Service) Resting() bool { return s.Suspension != nil && s.Suspension.Stopped }

// suspend has the service rest. One that has nothing which could go does so at once.
func (s *Service) suspend(r events.Record) {
	s.Suspension = &Suspension{Stopped: s.total == 0 && !s.Rescales()}
	s.Changed, s.Snapshots.Wanted = r.Sequence, 0
}

// resume has the service rest no more. Where nothing of it was stopped, it goes on as it was.
func (s *Service) resume(r events.Record, d events.ServiceResumed) {
	before := s.Suspension
	s.Suspension, s.Changed = nil, r.Sequence
	if before == nil || !before.Stopped {
		return
	}
	if d.Snapshot > 0 || before.Snapshot > 0 { // else volumes that were to be filled before, and are not, are to be still
		s.Resumption = s.resumption(r.Sequence, d.Snapshot, before.Snapshot)
	}
	if s.Snapshots.Scheduled = (time.Time{}); s.Current().Spec.Snapshot != nil {
		s.Snapshots.Scheduled = r.Time // what was due meanwhile is not missed
	}
	if s.Rescales() {
		s.Topology, s.Moved = nil, false // nobody serves by the one before: the next is in force at once
	}
	if s.Good != nil {
		s.Good = &Good{Revision: s.Good.Revision, Scale: s.Scale}
	}
	s.renew()
	s.trim()
}

// resumption returns how the service comes back: from the snapshot that was named, or else where needed from the one that was taken as
// it was suspended.
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

// Roams reports whether the slot's next instance may be on another node than the one that has its volumes: none has been placed since
// the service was resumed, and the snapshot has all that the volumes hold.
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

// refill says what the volumes of an instance that is placed are to hold: those of the spec that the snapshot has. Where it comes
// back to the node that has them, they stay as they are, unless the snapshot was named.
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

// runs follows an instance that is seen to run: what its volumes hold by now is its own.
func (s *Service) runs(i *Instance) {
	if s.Resumption != nil && i.Retired() == "" && (i.Seen.Phase == events.PhaseStarted || i.Seen.Phase == events.PhaseOnline) {
		delete(s.Resumption.Slots, i.ID.Ordinal)
	}
}

// resumedFrom returns the version of the snapshot that instances are told to come from; 0 for none.
func (s *Service) resumedFrom() uint64 {
	if r := s.Resumption; r != nil && (r.Named || r.Filled) {
		return r.Snapshot
	}
	return 0
}
