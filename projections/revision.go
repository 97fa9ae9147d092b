package projections

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Good is a service's last healthy revision and scale.
type Good struct {
	Revision uint64
	Scale    uint32
}

// UpToDate reports whether the instance has the current revision, or one that is alike.
func (s *Service) UpToDate(i *Instance) bool {
	return i.Revision == s.Revision || slices.Contains(s.Current().Keeps, i.Revision)
}

// Alike returns the revisions, in order, whose instances the revision of this number can keep. They have the same spec, and
// their image names resolve to the same images.
func (s *Service) Alike(number uint64) []uint64 {
	r := s.Revisions[number]
	var alike []uint64
	for _, n := range slices.Sorted(maps.Keys(s.Revisions)) {
		if o := s.Revisions[n]; o.Hash == r.Hash && maps.EqualFunc(o.Images, r.Images, sameImage) {
			alike = append(alike, n)
		}
	}
	return alike
}

func sameImage(a, b Image) bool { return a.Reference == b.Reference }

// revise gives the service its next revision. Where that repeats an earlier revision, its image names resolve to the same
// images as then.
func (s *Service) revise(d events.ServiceRevised, now time.Time) {
	next := &Revision{Spec: d.Spec, Hash: d.Hash, Keeps: d.Keeps}
	if of := s.Revisions[d.Of]; of != nil {
		next.Images = maps.Clone(of.Images)
	}
	s.Revision, s.Dropped, s.Failures = d.Revision, false, nil
	s.Revisions[d.Revision] = next
	for number := range s.Revisions {
		s.trimRevision(number)
	}
	s.recount()
	if d.Spec.Positional() && len(s.Skips) > 0 {
		s.scaled(events.ServiceScaled{Scale: s.Scale}, now)
	}
	if d.Spec.Topology == nil {
		s.Topology, s.Moved = nil, false
	}
	s.Job = newJob(d.Spec, now)
	if !d.Spec.Snapshots() {
		s.Snapshots.Wanted = 0
	}
	if d.Spec.Snapshot == nil {
		s.Snapshots.Scheduled = time.Time{}
	} else if s.Snapshots.Scheduled.IsZero() {
		s.Snapshots.Scheduled = now
	}
	for _, slot := range s.Slots {
		slot.forgetEnded()
		slot.Restarts = 0
	}
}

// trimRevision forgets a revision that no instance has and to which the service cannot return.
func (s *Service) trimRevision(number uint64) {
	r := s.Revisions[number]
	kept := number+events.KeptRevisions > s.Revision || (s.Good != nil && s.Good.Revision == number) ||
		(s.Operation != nil && s.Operation.From == number) || s.Before == number
	if r != nil && r.used == 0 && !kept {
		delete(s.Revisions, number)
	}
}

// recount counts again which instances serve and which are outdated, after the revision has changed.
func (s *Service) recount() {
	s.serving, s.outdated = 0, 0
	for i := range s.Instances() {
		if !s.UpToDate(i) {
			s.outdated++
		}
		s.countServing(i, 1)
	}
}

// settled remembers the revision and scale of a service that is healthy. It remembers nothing of a job, which cannot return to an
// earlier state. While an update is paused, it remembers only the scale.
func (s *Service) settled() {
	switch {
	case s.Dropped || s.Job != nil || s.Revision == 0 || s.Suspension != nil:
	case s.Operation == nil:
		s.Good = &Good{Revision: s.Revision, Scale: s.Scale}
	case s.Good != nil:
		s.Good = &Good{Revision: s.Good.Revision, Scale: s.Scale}
	}
}
