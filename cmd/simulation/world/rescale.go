package world

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// span is how many slots have an instance: those of the topology, until it is another one, as well as those of the scale.
func (s *service) span() uint32 {
	switch {
	case s.topology == nil || s.dropped:
		return s.scale
	case s.topology.Change != nil:
		return max(s.scale, s.topology.Scale, s.topology.Change.Slots)
	}
	return max(s.scale, s.topology.Scale)
}

// rescales holds a rescale to bring what the scale asks for, to all slots, under a config version of its own.
func (o operating) rescales(sequence uint64, d events.OperationStarted) {
	r, t := d.Rescale, o.s.topology
	if t != nil && t.Change == nil && o.s.rest == nil && len(o.outdated()) > 0 {
		o.breach("the topology changes before slots %v are of the revision", o.outdated())
	}
	if t == nil || (t.Scale == o.s.scale && t.Change == nil) {
		o.breach("a rescale to %d, and the topology is %+v", r.To, t)
		return
	}
	if r.Back != o.k.goesBack(o.id) {
		o.breach("a rescale to %d is said to take back what a group has changed: %t", r.To, r.Back)
	}
	if r.From != t.Scale || r.To != o.s.scale || r.ConfigVersion <= o.s.versions || len(d.Slots) != int(o.s.span()) {
		o.breach("a rescale from %d to %d of %d slots under config version %d: there are %d slots, the scale is %d and the last version %d",
			r.From, r.To, len(d.Slots), r.ConfigVersion, o.s.span(), o.s.scale, o.s.versions)
	}
	o.s.op = &operation{
		sequence: sequence, kind: d.Operation, revision: d.Revision, rescale: r, total: len(d.Slots), waiting: slices.Clone(d.Slots),
		entered: o.j.at, serves: map[uint32]time.Time{}, givenUp: map[uint32]bool{},
	}
}

// told holds what instances are told to be what the phase says.
func (k *knowledge) told(j *judge, id events.ServiceID, t events.Topology) {
	o := k.operating(j, id)
	before := o.s.topology
	if o.s.resting() {
		o.breach("%+v is told, and the service rests", t)
	}
	r := (*events.Rescale)(nil)
	if o.op != nil {
		r = o.op.rescale
	}
	switch {
	case before == nil:
		if t.ConfigVersion != o.s.versions+1 || t.Scale != o.s.scale || t.Change != nil {
			o.breach("the first topology is %+v, and the scale %d", t, o.s.scale)
		}
	case t.Equal(*before):
	case t.Change == nil:
		if r == nil || o.op.phase != events.OperationRetire || t.ConfigVersion != r.ConfigVersion || t.Scale != r.To {
			o.breach("topology %+v comes into force", t)
		}
	default:
		c := *t.Change
		if r == nil || t.ConfigVersion != before.ConfigVersion || t.Scale != before.Scale || c.Operation != o.op.sequence || c.Attempt != o.op.attempt ||
			c.Phase != o.op.phase || c.ConfigVersion != r.ConfigVersion || c.Scale != r.To || int(c.Slots) != o.op.total {
			o.breach("instances are told to %s for %+v in phase of %+v", c.Phase, t, o.op)
		}
		o.s.versions = max(o.s.versions, c.ConfigVersion)
	}
	o.s.topology, o.s.versions = &t, max(o.s.versions, t.ConfigVersion)
}

// answered holds an answer to be one to what was asked, and what is confirmed to have been done.
func (k *knowledge) answered(j *judge, service events.ServiceID, d events.Answer) {
	a := d.Asked()
	i := k.instances[events.InstanceID{Service: service, Ordinal: a.Ordinal, Generation: a.Generation}]
	if i == nil || i.removed || i.node != a.Node || (a.Operation == i.answer.Operation && !a.Above(i.answer)) {
		j.breach("status", "%s answers %+v, and has answered before", i, a)
		return
	}
	i.answer = a.Confirmation
	confirmed, confirms := d.(events.InstanceConfirmed)
	k.operating(j, service).exported(confirmed)
	if confirms && a.Phase != events.OperationExport && !j.rewound && !j.did[i.id][a.Confirmation] {
		j.breach("P6", "%s is said to have done %+v, and has not", i.id, a.Confirmation)
	}
}

// doneInRescale reports whether the slot is done with the phase of a rescale, and whether it has failed.
func (o operating) doneInRescale(slot uint32) (done, failed bool) {
	op, u, late := o.op, o.update(), o.late()
	var i *instance
	left := false
	for _, one := range o.k.of(o.id) {
		if one.id.Ordinal == slot {
			left = left || one.runs() || !one.away && !o.k.machine(one.node).silent
			if one.runs() {
				i = one
			}
		}
	}
	stays := slot < op.rescale.To
	switch op.phase {
	case events.OperationPrepare:
		done = !stays || (i != nil && i.seen.Phase >= events.PhasePrepared && i.seen.Phase <= events.PhaseOnline)
	case events.OperationStart:
		since, up := op.serves[slot]
		done = !stays || (up && o.j.at.Sub(since) >= time.Duration(*u.MinHealthy))
	case events.OperationRelease, events.OperationAcquire:
		wanted := events.Confirmation{Operation: op.sequence, Attempt: op.attempt, Phase: op.phase}
		if i != nil {
			done = o.s.specs[i.revision].Hook(op.phase) == nil ||
				(i.answer.Operation == wanted.Operation && (i.answer == wanted || i.answer.Above(wanted)))
			refused := i.answer
			refused.Refused = ""
			late = late || (!done && i.answer.Refused != "" && refused == wanted)
		}
	case events.OperationRetire:
		done = stays || !left
	case events.OperationMonitor, events.OperationPromote, events.OperationDelay, events.OperationWait, events.OperationHold, events.OperationExport:
	}
	return done || op.givenUp[slot], late
}

// givesUp reports whether the rescale ends where a slot has failed, or tries again.
func (o operating) givesUp() bool {
	return !o.op.rescale.Back && o.s.topology.Scale != o.op.rescale.To && o.s.specs[o.s.revision].Topology.OnFailure != events.RescaleContinue
}

// triesAgain follows a phase that is tried once more.
func (o operating) triesAgain(d events.OperationEntered) bool {
	op := o.op
	if op.rescale == nil || d.Phase != op.phase || d.Attempt != op.attempt+1 {
		return false
	}
	retries := op.rescale.Back || (o.givesUp() && o.s.specs[o.s.revision].Topology.OnFailure == events.RescaleRetry)
	if !retries || d.Attempt > events.MaxRescaleAttempts || !o.anyFailed() {
		o.breach("tries phase %s for the %dth time", d.Phase, d.Attempt)
	}
	op.attempt, op.late = d.Attempt, late{}
	o.begins()
	return true
}

func (o operating) anyFailed() bool {
	return slices.ContainsFunc(o.op.slots, func(slot uint32) bool {
		done, failed := o.done(slot)
		return failed && !done
	})
}

// goesOn holds a rescale that goes on without slots to be one that may.
func (o operating) goesOn(givenUp []uint32) {
	if len(givenUp) == 0 {
		return
	}
	o.s.giving = true
	if o.givesUp() || (o.op.rescale != nil && o.op.rescale.Back && o.op.attempt < events.MaxRescaleAttempts) {
		o.breach("goes on without slots %v", givenUp)
	}
}

// aborts holds a rescale that is given up to have failed, and to have something to go back to. What a command of the same round
// wants of the scale it has not got.
func (o operating) aborts(slots []uint32) {
	delete(o.k.asked, o.id)
	o.s.restFailed = o.s.rest != nil
	policy := o.s.specs[o.s.revision].Topology.OnFailure
	if o.op.rescale == nil || !o.givesUp() || (policy == events.RescaleRetry && o.op.attempt < events.MaxRescaleAttempts) || !o.anyFailed() {
		o.breach("is given up because of %v", slots)
	}
}
