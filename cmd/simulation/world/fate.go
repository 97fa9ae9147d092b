package world

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

type fate struct {
	service  events.ServiceID
	group    events.GroupID // that it was for; without a name where it was for none
	node     string         // that it was for, "" where it was for none
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

// fate judges what becomes of a command.
func (k *knowledge) fate(j *judge, id events.ServiceID, now time.Time, d events.Fate) {
	switch d := d.(type) {
	case events.CommandAccepted:
		k.unseen(j, d.Sequence, id)
		switch {
		case d.Verb == "promote": // it goes beside the command that holds the service
		case d.Queued:
			k.queued(j, d.Sequence, id)
		default:
			k.alone(j, d.Sequence, id)
			k.wants(j, d.Sequence, d.Verb, id)
		}
		k.outcome(j, d.Sequence, &fate{service: id, verb: d.Verb, since: now, accepted: true, queued: d.Queued})
		k.once(j, d.CommandIdentity)
	case events.CommandRejected:
		k.outcome(j, d.Sequence, &fate{})
	case events.CommandRepeated:
		k.outcome(j, d.Sequence, &fate{})
		k.repeats(j, d)
	case events.CommandQueued:
	case events.CommandBegun:
		k.begun(j, d.Sequence, now)
	case events.CommandSucceeded:
		f := k.end(j, d.Sequence)
		if f.queued {
			j.breach("queues", "command %d succeeded, and never began", d.Sequence)
		}
		if f.verb != "promote" {
			k.succeeded(j, d.Sequence, id)
		}
	case events.CommandSuperseded:
		k.waitedForNoMore(k.end(j, d.Sequence))
	case events.CommandFailed:
		k.failed(j, now, d)
	}
}

// alone holds a service to have one command at a time: what another takes the place of ends before.
func (k *knowledge) alone(j *judge, sequence uint64, id events.ServiceID) {
	if id.Name == "" {
		return // it is for a node or the cluster, and done as it is accepted
	}
	for _, other := range slices.Sorted(maps.Keys(k.open)) {
		if k.open[other].service == id || k.groups[other].has(id) {
			j.breach("P1", "command %d is accepted for %s while command %d has not ended", sequence, id, other)
			return
		}
	}
}

// deadline is how long an accepted command may wait without progress.
func (k *knowledge) deadline(f *fate) time.Duration {
	const usual = 10 * time.Minute
	if n := k.nodes[f.node]; n != nil && n.drain != nil {
		return max(n.drain.until.Sub(f.since), 0) + drainGrace + drainSlack
	}
	if s := k.services[f.service]; s != nil && s.revision > 0 {
		return time.Duration(s.specs[s.revision].Updates().ProgressDeadline)
	}
	return usual
}

// countsFrom is since when a command has made no progress: a phase that begins is some, and one in which nothing is to be
// done but to wait does not count.
func (k *knowledge) countsFrom(f *fate, now time.Time) time.Time {
	s := k.services[f.service]
	if s == nil || s.op == nil || s.dropped || !s.op.paused.IsZero() {
		return f.since
	}
	if waits := []events.OperationPhase{"monitor", "promote", "delay"}; slices.Contains(waits, s.op.phase) {
		return now
	}
	if s.op.entered.After(f.since) {
		return s.op.entered
	}
	return f.since
}

// overdue holds a leader to fail what is past its deadline. It looks from time to time, so it has a few rounds for it.
func (k *knowledge) overdue(j *judge, epoch uint64, now time.Time) {
	for _, sequence := range slices.Sorted(maps.Keys(k.open)) {
		f := k.open[sequence]
		if g := k.groups[sequence]; g != nil {
			k.groupLate(j, g, epoch, now)
			continue
		}
		if (f.queued && k.held(f.service)) || (!f.queued && (now.Sub(k.countsFrom(f, now)) < k.deadline(f) || k.waitsForJob(f, now))) {
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
	k.waitedForNoMore(f)
	if lasted := now.Sub(k.countsFrom(f, now)); d.Reason == events.ReasonDeadline && lasted < k.deadline(f) {
		j.breach("time", "command %d failed at its deadline after %s", d.Sequence, lasted)
	}
	s := k.services[f.service]
	k.failedToSuspend(j, f, d.Reason)
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
	if s != nil && s.rest != nil && !s.dropped {
		k.rested(j, sequence, id)
		return
	}
	if s != nil && s.isJob() && !s.dropped {
		if !s.allDone() && s.specs[s.revision].Job.Schedule == "" {
			j.breach("jobs", "command %d succeeded with %d slots of %s done of %d", sequence, len(s.job.done), id, s.scale)
		}
		return
	}
	for _, i := range k.of(id) {
		switch {
		case i.absent(): // nobody waits for it
		case s != nil && !s.dropped && i.runs() && !i.lost && (s.upToDate(i) || s.op != nil) && i.replaces == 0 && i.seen.Phase == events.PhaseOnline:
			serving++
		case s != nil && s.op != nil && i.replaces > 0: // it is what a paused update has begun
		default:
			others++
		}
	}
	if s == nil || others > 0 || (!s.dropped && serving != int(s.scale)) {
		j.breach("P1", "command %d succeeded with %d instances of %s that serve, and %d others", sequence, serving, id, others)
	}
	if s != nil && s.snapshots.wanted > 0 {
		j.breach("P1", "command %d succeeded, and a snapshot of %s is wanted", sequence, id)
	}
	switch {
	case s == nil || s.dropped:
	case s.op == nil:
		s.good = &good{spec: s.specs[s.revision], scale: s.scale}
	case s.op.paused.IsZero():
		j.breach("P1", "command %d succeeded, and the operation of %s goes on", sequence, id)
	case s.good != nil:
		s.good = &good{spec: s.good.spec, scale: s.scale}
	}
}
