package world

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

type fate struct {
	service  events.ServiceID
	verb     string
	since    time.Time
	accepted bool
	queued   bool // it waits for those before it
	ended    bool
	// late is what was closed since its deadline passed, by one leader.
	late late
}

func (k *knowledge) outcome(j *judge, sequence uint64, f *fate) {
	if k.commands[sequence] != nil {
		j.breach("P1", "command %d has a second outcome", sequence)
	}
	k.commands[sequence] = f
	if f.accepted {
		k.open[sequence] = f
	}
}

// alone holds a service to have one command at a time: what another takes the place of ends before.
func (k *knowledge) alone(j *judge, sequence uint64, id events.ServiceID) {
	for _, other := range slices.Sorted(maps.Keys(k.open)) {
		if k.open[other].service == id {
			j.breach("P1", "command %d is accepted for %s while command %d has not ended", sequence, id, other)
			return
		}
	}
}

// deadline is how long an accepted command may take.
const deadline = 10 * time.Minute

// overdue holds a leader to fail what is past its deadline. It looks from time to time, so it has a few rounds for it.
func (k *knowledge) overdue(j *judge, epoch uint64, now time.Time) {
	for _, sequence := range slices.Sorted(maps.Keys(k.open)) {
		f := k.open[sequence]
		if (f.queued && k.held(f.service)) || (!f.queued && (now.Sub(f.since) < deadline || k.waitsForJob(f, now))) {
			f.late = late{}
			continue
		}
		if f.late.left(epoch, now) {
			j.breach("P1", "command %d has no end %s after it was accepted", sequence, now.Sub(f.since))
			return
		}
	}
}

// once holds an id to be accepted once.
func (k *knowledge) once(j *judge, c events.CommandIdentity) {
	if c.ID == "" {
		return
	}
	key := c.Source + "\x00" + c.ID
	if earlier, known := k.accepted[key]; known {
		j.breach("P3", "commands %d and %d have one id, and both are accepted", earlier, c.Sequence)
	}
	k.accepted[key] = c.Sequence
}

func (k *knowledge) end(j *judge, sequence uint64) *fate {
	f := k.commands[sequence]
	switch {
	case f == nil || !f.accepted:
		j.breach("P1", "command %d ends, and was never accepted", sequence)
		return &fate{}
	case f.ended:
		j.breach("P1", "command %d ends a second time", sequence)
	}
	f.ended = true
	delete(k.open, sequence)
	return f
}

func (k *knowledge) failed(j *judge, now time.Time, d events.CommandFailed) {
	f := k.end(j, d.Sequence)
	if lasted := now.Sub(f.since); d.Reason == events.ReasonDeadline && lasted < deadline {
		j.breach("time", "command %d failed at its deadline after %s", d.Sequence, lasted)
	}
	s := k.services[f.service]
	switch {
	case f.queued && d.Reason == events.ReasonDeadline, !f.queued && d.Reason == events.ReasonRefused:
		j.breach("queues", "command %d failed as %s, and waits: %t", d.Sequence, d.Reason, f.queued)
	case d.Reason == events.ReasonDeadline && k.worksOn(f, now):
		j.breach("jobs", "command %d failed at its deadline, and its job runs", d.Sequence)
	case d.Reason == events.ReasonBackoffLimit && (s == nil || !s.givenUp()):
		j.breach("jobs", "command %d failed at the limit of a job that is not given up", d.Sequence)
	}
}

// succeeded holds a success to be one: the service is as was asked.
func (k *knowledge) succeeded(j *judge, sequence uint64, id events.ServiceID) {
	if id.Namespace == "" {
		return // it was for the cluster or for a node, and done as it was accepted
	}
	s, serving, others := k.services[id], 0, 0
	if s != nil && s.isJob() && !s.dropped {
		if !s.allDone() && s.specs[s.revision].Job.Schedule == "" {
			j.breach("jobs", "command %d succeeded with %d slots of %s done of %d", sequence, len(s.job.done), id, s.scale)
		}
		return
	}
	for _, i := range k.of(id) {
		if s != nil && !s.dropped && !i.retired && s.upToDate(i) && i.seen.Phase == events.PhaseOnline {
			serving++
		} else {
			others++
		}
	}
	if s == nil || others > 0 || (!s.dropped && serving != int(s.scale)) {
		j.breach("P1", "command %d succeeded with %d instances of %s that serve, and %d others", sequence, serving, id, others)
	}
	if s != nil && !s.dropped {
		s.good = &good{spec: s.specs[s.revision], scale: s.scale}
	}
}
