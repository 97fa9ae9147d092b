package world

import (
	"fmt"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// job is how far a job has come in the service's revision, and in its run.
type job struct {
	run uint64
	// scheduled is when the last run was due that began or was left out, or the revision was accepted before the first.
	scheduled time.Time
	done      map[uint32]bool
	failures  int
	failedAt  time.Time
	// moved is when an instance was last placed or retired.
	moved time.Time
	// owed is what was closed since a run is due.
	owed late
}

// jobs draws what somebody asks of jobs: of the services that others speak of, too.
func (d *drawer) jobs() []Action {
	const one, between = 2, 4 * time.Minute
	if d.IntN(one) > 0 {
		return nil
	}
	var all []Action
	for at := d.soon(between); at < d.plan.Lasts; at += d.soon(between) {
		id := d.service()
		all = append(all, d.say(at, id, "ensure", d.job()))
		if d.IntN(one) == 0 {
			all = append(all, d.say(at+d.soon(between), id, "drop", `{}`))
		}
	}
	return all
}

func (d *drawer) job() string {
	const most = 7
	return fmt.Sprintf(`{"image":%q,"mode":"job","job":{"completions":%d,"parallelism":%d,"backoff_limit":%d%s}%s,"busy":"supersede"}`,
		images[d.IntN(len(images))], 1+d.IntN(most), 1+d.IntN(most), d.IntN(most), d.schedule(), d.wishes())
}

// finishes has the container of a job end by itself after a while.
func (h *host) finishes(c node.Container, image string) {
	const longest = 2 * time.Minute
	h.world.at(time.Now().Add(100*time.Millisecond+time.Duration(h.draw.Int64N(int64(longest)))), func() bool {
		code := int32(0)
		if h.world.imageOf(image) == crashes {
			code = 1
		}
		for _, have := range h.engine.Containers() {
			if have.Handle == c.Handle && have.State == node.Running && have.Instance == c.Instance {
				h.world.judge.finished[c.Instance] = h.world.judge.finished[c.Instance] || code == 0
				return h.engine.Kill(c.Instance, code)
			}
		}
		return false
	})
}

// isJob reports whether the service is a job.
func (s *service) isJob() bool { return s.specs[s.revision].IsJob() }

// idle reports whether the job waits for the first run of its schedule.
func (s *service) idle() bool {
	return s.isJob() && s.specs[s.revision].Job.Schedule != "" && s.job.run == 0
}

func (s *service) allDone() bool { return len(s.job.done) == int(s.scale) }

// givenUp reports whether more instances have failed than may.
func (s *service) givenUp() bool {
	return s.isJob() && !s.allDone() && s.job.failures > int(*s.specs[s.revision].Jobs().BackoffLimit)
}

// rests is until when nothing of the job may be placed after a failure.
func (s *service) rests() time.Time {
	r, delay := s.specs[s.revision].Restarts(), time.Duration(0)
	for n := range s.job.failures {
		if n == 0 {
			delay = time.Duration(r.Delay)
			continue
		}
		delay = min(2*delay, time.Duration(r.MaxDelay))
	}
	return s.job.failedAt.Add(delay)
}

// againstJob says why a job must not have one more instance now, or "" where it may.
func (k *knowledge) againstJob(id events.ServiceID, now time.Time) string {
	s := k.services[id]
	if !s.isJob() {
		return ""
	}
	live := 0
	for _, i := range k.of(id) {
		if !i.retired || (i.seen.Phase < events.PhaseCompleted && !k.machine(i.node).silent) {
			live++
		}
		if i.retired && (i.revision != s.revision || i.run != s.job.run) && i.seen.Phase < events.PhaseCompleted && !k.machine(i.node).silent {
			return "one of an earlier revision may run still"
		}
	}
	switch {
	case s.idle():
		return "it waits for its schedule"
	case s.givenUp():
		return "it is given up"
	case live >= int(s.specs[s.revision].Jobs().Parallelism):
		return "as many run as may"
	case now.Before(s.rests()):
		return "it rests after a failure"
	}
	return ""
}

// retiredOfJob holds the retirement of a job's instance to its reason.
func (k *knowledge) retiredOfJob(j *judge, i *instance, reason events.RetireReason) {
	s := k.service(i.id.Service)
	s.job.moved = j.at
	why := ""
	switch {
	case reason == events.RetireCompleted && !s.job.done[i.id.Ordinal]:
		why = "its slot is not done"
	case reason == events.RetireFailed && i.seen.Phase != events.PhaseOffline:
		why = "it is not offline"
	case reason == events.RetireLost && !i.lost && !j.w.plan.Golden: // an earlier version did not say what is lost
		why = "it is not lost"
	case reason == events.RetireGivenUp && !s.givenUp():
		why = "its job is not given up"
	case reason == events.RetireReplaced && i.run == s.job.run && !s.idle() && !i.away:
		why = "it is of the current run"
	}
	if why != "" {
		j.breach("jobs", "%s is retired as %s, and %s", i.id, reason, why)
	}
	if reason == events.RetireFailed || reason == events.RetireLost {
		s.job.failures, s.job.failedAt = s.job.failures+1, j.at
	}
}

// sightedOfJob holds what ended well to be told as completed, and nothing else.
func (k *knowledge) sightedOfJob(j *judge, i *instance, seen events.InstanceSeen) {
	well := seen.Reason == events.OfflineExited && seen.ExitCode != nil && *seen.ExitCode == 0
	switch {
	case seen.Phase == events.PhaseCompleted:
		k.completed(j, i)
	case well && k.service(i.id.Service).specs[i.revision].IsJob():
		j.breach("jobs", "%s is offline with exit code 0, and of a job", i.id)
	}
}

// completed holds an instance that completed to have ended well by itself.
func (k *knowledge) completed(j *judge, i *instance) {
	s := k.service(i.id.Service)
	if !s.specs[i.revision].IsJob() {
		j.breach("jobs", "%s completed, and is of no job", i.id)
	}
	if !j.finished[i.id] && !j.rewound {
		j.breach("jobs", "%s completed, and its container has not ended well by itself", i.id)
	}
	if i.revision == s.revision && i.run == s.job.run {
		s.job.done[i.id.Ordinal] = true
	}
}

// worksOn reports whether the command waits for a job of which something runs, or which rests after a failure, or did so
// not long ago.
func (k *knowledge) worksOn(f *fate, now time.Time) bool {
	s := k.services[f.service]
	if s == nil || s.dropped || !s.isJob() {
		return false
	}
	for _, i := range k.of(f.service) {
		if !i.retired {
			return true
		}
	}
	return now.Sub(s.job.moved) < k.deadline(f) || now.Sub(s.rests()) < k.deadline(f)
}

// waitsForJob reports whether the command may wait for its job: that works, or what shall stop of it is not gone yet.
func (k *knowledge) waitsForJob(f *fate, now time.Time) bool {
	s := k.services[f.service]
	return k.worksOn(f, now) || (s != nil && s.isJob() && !s.dropped && len(k.of(f.service)) > 0)
}

// jobUnlike says in what a job is not as it shall be: it is done, given up, or no node could have more of it.
func (j *judge) jobUnlike(id events.ServiceID) []string {
	s := j.cluster.services[id]
	var why []string
	for _, i := range j.cluster.of(id) {
		why = append(why, fmt.Sprintf("%s of a job is %s", i.id, i))
	}
	if s.allDone() || s.givenUp() || s.idle() || s.dropped {
		return why
	}
	if j.cluster.roomForAny(id, j.cluster.empty(id)) {
		why = append(why, fmt.Sprintf("%s has %d slots of %d done, and there is room", id, len(s.job.done), s.scale))
	}
	return why
}

// isJob reports whether the container is of a job, as its revision in the log has it.
func (h *host) isJob(c node.Container) bool {
	s := h.world.judge.cluster.services[c.Instance.Service]
	return s != nil && s.specs[c.Revision].IsJob()
}
