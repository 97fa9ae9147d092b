package coordinator

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// fire begins the run of a job that is due by its schedule. If the former run has not ended and the spec forbids overlap, it
// skips the run. If several runs were due since the last one, as after an outage, only the latest counts.
func (t *Turn) fire(s *projections.Service) {
	if !t.fires(s) {
		return
	}
	job := s.Current().Spec.Jobs()
	at := job.Latest(s.Job.Scheduled, t.Now)
	if job.Overlap == events.OverlapForbid && !s.Settled() {
		t.emit(events.ServiceScope(s.ID), events.ServiceSkipped{Run: s.Job.Run, Scheduled: at})
		return
	}
	t.emit(events.ServiceScope(s.ID), events.ServiceFired{Run: s.Job.Run + 1, Scheduled: at})
}

// fires reports whether a run of the job is due.
func (t *Turn) fires(s *projections.Service) bool {
	next := s.NextRun()
	return !next.IsZero() && !t.Now.Before(next)
}
