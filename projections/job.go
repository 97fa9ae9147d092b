package projections

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// Job is how far a service of mode job has come in its current revision.
type Job struct {
	// Failures counts the instances that failed, the last of them at FailedAt.
	Failures uint32
	FailedAt time.Time
	// Moved is when an instance was last placed or retired.
	Moved time.Time

	completed int
}

// Jobs returns, in no order, the services of mode job.
func (c *Cluster) Jobs() map[events.ServiceID]struct{} { return c.jobs }

// Completed reports whether the slot of a job is done in the current revision.
func (s *Slot) Completed() bool { return s.Ended != nil && s.Ended.Seen.Phase == events.PhaseCompleted }

// Vacant reports whether the slot may have an instance and has none.
func (s *Slot) Vacant() bool { return s.Current == nil && !s.Completed() }

// Completed counts the slots of a job that are done in the current revision.
func (s *Service) Completed() int {
	if s.Job == nil {
		return 0
	}
	return s.Job.completed
}

// Done reports whether every slot of a job is done.
func (s *Service) Done() bool { return s.Job != nil && s.Job.completed == int(s.Scale) }

// GivenUp reports whether more instances of a job have failed than may, and not every slot is done all the same.
func (s *Service) GivenUp() bool {
	return s.Job != nil && !s.Done() && s.Job.Failures > *s.Current().Spec.Jobs().BackoffLimit
}

// Wanted is how many slots shall have an instance now.
func (s *Service) Wanted() int {
	switch {
	case s.Dropped || s.GivenUp():
		return 0
	case s.Job != nil:
		return min(int(s.Current().Spec.Jobs().Parallelism), int(s.Scale)-s.Job.completed)
	}
	return int(s.Scale)
}

// ended keeps of a job's slot how its last instance ended. What is done stays so.
func (s *Service) ended(i *Instance) {
	slot := s.Slots[i.ID.Ordinal]
	if s.Job == nil || i.Revision != s.Revision || slot.Completed() {
		return
	}
	last := *i
	slot.Ended = &last
	if slot.Completed() {
		s.Job.completed++
	}
}

// noteJob follows an instance of a job that is placed or retired; the reason is "" for one that is placed.
func (s *Service) noteJob(i *Instance, reason events.RetireReason, now time.Time) {
	if s.Job == nil {
		return
	}
	s.Job.Moved = now
	if reason != events.RetireFailed && reason != events.RetireLost {
		return
	}
	s.Job.Failures, s.Job.FailedAt = s.Job.Failures+1, now
	s.ended(i)
}
