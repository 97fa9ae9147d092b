package coordinator

import (
	"fmt"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// runJob takes a job's next step. It begins a run that is due, retires instances that have ended or must stop, places the missing
// ones, and ends the command once the job ends.
func (t *Turn) runJob(s *projections.Service) {
	t.fire(s)
	t.retireScaledDown(s)
	t.retireUnfit(s)
	t.retireEnded(s)
	if s.GivenUp() {
		t.retireAll(s, events.RetireGivenUp)
	}
	if !t.Now.Before(retryAt(s)) {
		t.fill(s, t.mayRun(s))
	}
	t.sayAnew(s)
	t.endJob(s)
}

// sayAnew reports again why a job waits, once a node is no longer held for it.
func (t *Turn) sayAnew(s *projections.Service) {
	said := s.Pending
	if said == nil || said.Holds == "" || t.Cluster.Held().Service == s {
		return
	}
	if d := t.work.board.Choose(s, said.Ordinal); d.Node == nil {
		d.Pending.Ordinal = said.Ordinal
		t.pend(s, *d.Pending)
	}
}

// retireEnded retires the instances of a job that must no longer run.
func (t *Turn) retireEnded(s *projections.Service) {
	for _, slot := range s.Slots {
		if i := slot.Current; i != nil {
			if why := t.over(s, slot); why != "" {
				t.retire(i, why)
			}
		}
	}
}

// over returns why the slot's instance must no longer run, or "" if it must run.
func (t *Turn) over(s *projections.Service, slot *projections.Slot) events.RetireReason {
	switch i := slot.Current; {
	case i.Revision != s.Revision:
		return events.RetireRevised
	case s.OfBefore(i), s.Idle():
		return events.RetireReplaced
	case slot.Completed():
		return events.RetireCompleted
	case i.Seen.Phase == events.PhaseOffline:
		return events.RetireFailed
	case i.Lost: // if its node is cut off, it and its replacement may run at once
		return events.RetireLost
	}
	return ""
}

// mayRun returns how many slots of a job may have an instance now, beside the retired instances that may still run. A revision
// or a run begins once all instances of the one before have ended. The job does not wait for instances on silent nodes.
func (t *Turn) mayRun(s *projections.Service) int {
	most := int(s.Current().Spec.Jobs().Parallelism)
	for i := range s.Instances() {
		if i.Retired() == "" || i.Seen.Phase >= events.PhaseCompleted || t.Cluster.Nodes[i.Node].Silent {
			continue
		}
		if s.OfBefore(i) {
			return 0
		}
		most--
	}
	return min(most, s.Wanted())
}

// retryAt returns when the job may start its next instance after the last failure.
func retryAt(s *projections.Service) time.Time {
	if s.Job.Failures == 0 {
		return time.Time{}
	}
	return s.Job.FailedAt.Add(s.Current().Spec.Restarts().Backoff(s.Job.Failures))
}

// endJob ends the command that waits for the job, once the job is done or given up. A job with a schedule ends its command at
// once, because the command does not wait for runs. The remaining instances end without the command.
func (t *Turn) endJob(s *projections.Service) {
	if s.Holder == 0 || (!s.Settled() && !s.Scheduled()) {
		return
	}
	if s.Done() || s.Scheduled() {
		t.emit(events.ServiceScope(s.ID), events.CommandSucceeded{Sequence: s.Holder})
		return
	}
	t.emit(events.ServiceScope(s.ID), events.CommandFailed{
		Sequence: s.Holder, Reason: events.ReasonBackoffLimit, Message: missing(t.Cluster, s),
	})
}

// jobsDue queues every job that has not ended or is due: a back-off may be over.
func (t *Turn) jobsDue() {
	for id := range t.Cluster.Jobs() {
		if s := t.Cluster.Services[id]; t.atService(events.WorkDue, id) && (!s.Settled() || t.fires(s)) {
			t.work.add(id)
		}
	}
}

// undone describes for the operator what a job still lacks.
func undone(c *projections.Cluster, s *projections.Service) string {
	text := fmt.Sprintf("%d of %d completed in revision %d, and %d failed", s.Completed(), s.Scale, s.Revision, s.Job.Failures)
	if s.GivenUp() {
		text += fmt.Sprintf(", which is more than job.backoff_limit %d", *s.Current().Spec.Jobs().BackoffLimit)
	}
	if s.Pending != nil {
		text += fmt.Sprintf("; the next instance has no node (%s)", c.WhyPending(s))
	}
	for _, slot := range s.Slots {
		if i := slot.Beside().Ended; i != nil && !slot.Completed() {
			return text + "; " + howEnded(i)
		}
	}
	return text
}

// howEnded describes how an instance of a job failed.
func howEnded(i *projections.Instance) string {
	switch {
	case i.Retired() == events.RetireLost:
		return fmt.Sprintf("%s was lost with %s", i.ID, i.Node)
	case i.Ended().ExitCode != nil:
		return fmt.Sprintf("%s: %s with exit code %d", i.ID, i.Ended().Reason, *i.Ended().ExitCode)
	}
	return fmt.Sprintf("%s: %s %s", i.ID, i.Ended().Reason, i.Ended().Message)
}
