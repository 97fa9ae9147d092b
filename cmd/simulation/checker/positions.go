package checker

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// sighted checks that what a node says of an instance climbs, and that only what was retired is removed.
func (c *Checker) sighted(id events.ServiceID, d events.Sighting) {
	seen := d.Seen()
	i := c.facts.instances[events.InstanceID{Service: id, Ordinal: seen.Ordinal, Generation: seen.Generation}]
	if i == nil || i.removed || i.node != seen.Node {
		c.breach("status", "%s says that %s/%d of generation %d is %s, and the log has it %s", seen.Node, id, seen.Ordinal, seen.Generation, seen.Phase, i)
		return
	}
	if m := c.machine(i.node); seen.Epoch != m.epoch {
		c.breach("status", "%s is seen %s in epoch %d of %s, which is in epoch %d", i.id, seen.Phase, seen.Epoch, i.node, m.epoch)
	}
	finally := seen.Position == i.seen && seen.NoRestart != "" && !i.rests // it is stopped, after it was not well
	if !climbs(i.seen, seen.Position) && !finally {
		c.breach("status", "%s sinks from %v to %v", i.id, i.seen, seen.Position)
	}
	if seen.Phase != events.PhaseOnline || seen.Attempt != i.seen.Attempt {
		i.serves, i.back = time.Time{}, false
	}
	i.seen = seen.Position
	if i.online() && i.serves.IsZero() {
		i.serves = c.facts.at
	}
	i.spent = seen.Phase == events.PhaseOffline && seen.NoRestart == events.NoRestartAttempts
	i.rests = seen.Phase >= events.PhaseCompleted || (seen.Phase == events.PhaseOffline && seen.NoRestart != "")
	s := c.service(id)
	switch seen.Phase {
	case events.PhaseOffline:
		c.refers(i, seen)
	case events.PhaseCompleted:
		c.completed(s, i)
	case events.PhaseRemoved:
		if !i.retired {
			c.breach("P9", "%s is removed, and was to run", i.id)
		}
		c.remove(s, i)
	case events.PhasePlaced, events.PhasePrepared, events.PhaseStarted, events.PhaseOnline, events.PhaseStopped:
	}
}

// climbs reports whether a position is further than another. An instance that is offline may be so for another reason later, and
// online again after it.
func climbs(from, to events.Position) bool {
	ends := from.Phase >= events.PhaseCompleted || to.Phase >= events.PhaseCompleted
	if from.Epoch != to.Epoch {
		return to.Epoch > from.Epoch
	}
	if !ends && from.Attempt != to.Attempt {
		return to.Attempt > from.Attempt
	}
	return to.Phase > from.Phase
}

// completed checks that an instance which is said to have completed is of a job, and ended well by itself. A log that was restored has
// other revisions than those that nodes know.
func (c *Checker) completed(s *service, i *instance) {
	switch {
	case c.rewound:
	case !s.specs[i.revision].IsJob():
		c.breach("jobs", "%s completed, and is of no job", i.id)
	case !c.engines.finished[i.id]:
		c.breach("jobs", "%s completed, and its container has not ended well by itself", i.id)
	}
	if i.revision == s.revision && i.run == s.run {
		s.completed[i.id.Ordinal] = true
	}
}

// answers checks that the answers of an instance climb, and that it has done what it confirms.
func (c *Checker) answers(id events.ServiceID, d events.Answer) {
	a := d.Asked()
	i := c.facts.instances[events.InstanceID{Service: id, Ordinal: a.Ordinal, Generation: a.Generation}]
	if i == nil || i.removed || i.node != a.Node || (a.Operation == i.answer.Operation && !a.Above(i.answer) && !c.heldAgain(i, a)) {
		c.breach("status", "%s/%d of generation %d answers %+v, and the log has it %s", id, a.Ordinal, a.Generation, a.Confirmation, i)
		return
	}
	i.answer = a.Confirmation
	confirmed, confirms := d.(events.InstanceConfirmed)
	if !confirms {
		return
	}
	if s := c.service(id); s.op != nil && s.op.keeps() && a.Operation == s.op.sequence && a.Phase == events.OperationExport {
		s.op.exports[a.Ordinal] = confirmed.Exports
	}
	if a.Phase != events.OperationExport && !c.rewound && !c.engines.did[i.id][a.Confirmation] {
		c.breach("P6", "%s is said to have done %+v, and has not", i.id, a.Confirmation)
	}
}

// heldAgain reports whether the answer is to a snapshot: one whose container is another by now does its part again.
func (c *Checker) heldAgain(i *instance, a events.InstanceAsked) bool {
	s := c.service(i.id.Service)
	return s.op != nil && s.op.keeps() && s.op.sequence == a.Operation
}
