package projections

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// Job is the progress of a service of mode job in its current revision, and in its current run where it has a schedule.
type Job struct {
	// Run counts the runs by the schedule; 0 before the first.
	Run uint64
	// Scheduled is when the last run that began or was skipped was due. Before the first run it is the time of the revision. It is zero
	// without a schedule.
	Scheduled time.Time
	// Failures counts the failed instances. The last of them failed at FailedAt.
	Failures uint32
	FailedAt time.Time
	// Moved is when the coordinator last placed or retired an instance.
	Moved time.Time

	completed int
	// next is when the next run is due; zero where no run is.
	next time.Time
}

// newJob returns the state of a revision's job before its first run; nil where the service is not a job.
func newJob(spec events.Spec, now time.Time) *Job {
	switch {
	case !spec.IsJob():
		return nil
	case spec.Jobs().Schedule == "":
		return &Job{}
	}
	return &Job{Scheduled: now, next: spec.Jobs().Next(now)}
}

// Run returns the number of the job's current run; 0 where the service has no schedule or waits for the first.
func (s *Service) Run() uint64 {
	if s.Job == nil {
		return 0
	}
	return s.Job.Run
}

// Scheduled reports whether the service is a job with a schedule.
func (s *Service) Scheduled() bool { return s.Job != nil && !s.Job.Scheduled.IsZero() }

// Idle reports whether the job waits for the first run of its schedule.
func (s *Service) Idle() bool { return s.Scheduled() && s.Job.Run == 0 }

// NextRun returns when the next run of the job is due; the zero time where no run is.
func (s *Service) NextRun() time.Time {
	if s.Job == nil {
		return time.Time{}
	}
	return s.Job.next
}

// fired starts the next run of the job.
func (s *Service) fired(d events.ServiceFired, now time.Time) {
	s.Job = &Job{Run: d.Run, Moved: now}
	for _, slot := range s.Slots {
		slot.forgetEnded()
		slot.Fresh = true
	}
	s.considered(d.Scheduled)
}

// considered notes that a run which was due at this time has begun or was skipped.
func (s *Service) considered(at time.Time) {
	s.Job.Scheduled, s.Job.next = at, s.Current().Spec.Jobs().Next(at)
}

// OfBefore reports whether the instance belongs to an earlier revision, or to an earlier run of the job.
func (s *Service) OfBefore(i *Instance) bool {
	return i.Revision != s.Revision || i.PlacedWith().Run != s.Run()
}

// Completed reports whether the slot of a job is done in the current revision.
func (s *Slot) Completed() bool {
	ended := s.Beside().Ended
	return ended != nil && ended.Seen.Phase == events.PhaseCompleted
}

func (s *Slot) forgetEnded() {
	if s.Aside != nil {
		s.aside(func(a *Aside) { a.Ended = nil })
	}
}

// Vacant reports whether the slot has no instance but may have one.
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

// GivenUp reports whether more instances of a job have failed than its backoff limit allows, while not every slot is done.
func (s *Service) GivenUp() bool {
	return s.Job != nil && !s.Done() && s.Job.Failures > *s.Current().Spec.Jobs().BackoffLimit
}

// Wanted returns how many slots must have an instance now.
func (s *Service) Wanted() int {
	switch {
	case s.Dropped || s.GivenUp() || s.Idle() || s.Suspended():
		return 0
	case s.Job != nil:
		return min(int(s.Current().Spec.Jobs().Parallelism), int(s.Scale)-s.Job.completed)
	}
	return int(s.Span()) - len(s.Skips)
}

// ended keeps how the last instance of a job's slot ended. A completed slot stays completed.
func (s *Service) ended(i *Instance) {
	slot := s.Slots[i.ID.Ordinal]
	if s.Job == nil || s.OfBefore(i) || slot.Completed() {
		return
	}
	last := *i
	slot.aside(func(a *Aside) { a.Ended = &last })
	if slot.Completed() {
		s.Job.completed++
	}
}

// noteJob notes that an instance of a job is placed or retired; the reason is "" for one that is placed.
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
