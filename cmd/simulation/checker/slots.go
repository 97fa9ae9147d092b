package checker

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// placed checks a new instance: its generation is new, its slot is its own, the spec is the one that the slot is to have, and the
// node is one that may have it.
func (c *Checker) placed(id events.ServiceID, d events.InstancePlaced) {
	i, s := instanceOf(id, d), c.service(id)
	c.recovered(i.id)
	c.ownsSlot(s, i)
	c.explained(s, i)
	switch {
	case s.dropped, s.stopped:
		c.breach("placement", "%s is placed, and %s is dropped: %t, or suspended", i.id, id, s.dropped)
	case !s.has(i.id.Ordinal):
		c.breach("placement", "%s is placed, and %s has %d slots without %s", i.id, id, s.scale, s.skips)
	case i.revision != s.target(i.id.Ordinal) && !c.movesAsItIs(s, i):
		c.breach("placement", "%s is placed in revision %d, and %s is to have revision %d", i.id, i.revision, id, s.revision)
	case s.spec().IsJob():
		c.workedOn(s, i)
	}
	c.fits(s, i, d)
	c.stays(s, i)
	if s.resumed != nil {
		delete(s.resumed.slots, i.id.Ordinal) // its volumes are its own from here on
	}
	c.add(s, i)
}

// adopted takes an instance that a node has and the log did not know, as after a restore.
func (c *Checker) adopted(id events.ServiceID, d events.InstancePlaced) {
	i, s := instanceOf(id, d), c.service(id)
	if c.facts.instances[i.id] != nil {
		c.breach("P5", "%s is adopted, and the log had it before", i.id)
	}
	delete(c.machine(i.node).orphans, i.id)
	c.stays(s, i)
	c.add(s, i)
}

func instanceOf(id events.ServiceID, d events.InstancePlaced) *instance {
	return &instance{
		id: events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation}, node: d.Node, address: d.Address,
		revision: d.Revision, run: d.Run, ports: d.Ports, reserved: d.Reserved, scratch: d.Scratch,
		window: time.Duration(d.Window), replaces: d.Replaces,
	}
}

// add takes an instance into the facts.
func (c *Checker) add(s *service, i *instance) {
	i.placed = c.Now()
	c.facts.instances[i.id] = i
	for int(i.id.Ordinal) >= len(s.slots) {
		s.slots = append(s.slots, nil)
	}
	s.slots[i.id.Ordinal] = append(s.slots[i.id.Ordinal], i)
	m := c.machine(i.node)
	m.instances[i.id] = i
	for _, p := range i.ports {
		m.ports[p.HostPort] = i.id
	}
	slot := slotID{i.id.Service, i.id.Ordinal}
	c.facts.generations[slot] = max(c.facts.generations[slot], i.id.Generation)
}

// recovered checks that nothing is decided on instances before nodes had time to list what they have, after an adoption.
func (c *Checker) recovered(id events.InstanceID) {
	if c.facts.at.Before(c.log.recovers) {
		c.breach("P9", "%s is decided %s before the nodes had to say what they have", id, c.log.recovers.Sub(c.facts.at))
	}
}

// ownsSlot checks that the slot has no other instance than the one that it takes the place of, and that generations climb. An
// exclusive slot has none either that may still live.
func (c *Checker) ownsSlot(s *service, i *instance) {
	if last := c.facts.generations[slotID{i.id.Service, i.id.Ordinal}]; i.id.Generation <= last {
		c.breach("P5", "%s is placed after generation %d: a generation is used again", i.id, last)
	}
	found := i.replaces == 0
	for _, o := range s.at(i.id.Ordinal) {
		exclusive := i.window > 0
		switch {
		case o.runs() && o.id.Generation == i.replaces && !exclusive:
			found = true
		case o.runs() && !o.lost:
			c.breach("P5", "%s is placed while %s is to run", i.id, o.id)
		case exclusive && (!o.lost || o.window == 0):
			c.breach("P5", "%s is placed, and %s may live: the slot is exclusive", i.id, o.id)
		}
	}
	if !found {
		c.breach("P5", "%s is to succeed generation %d, which is not there", i.id, i.replaces)
	}
}

// explained checks that an instance which comes beside another has a reason: an update, a drain or a rebalancing.
func (c *Checker) explained(s *service, i *instance) {
	if i.replaces == 0 {
		return
	}
	before := c.facts.instances[events.InstanceID{Service: i.id.Service, Ordinal: i.id.Ordinal, Generation: i.replaces}]
	if before == nil {
		return
	}
	drained := c.machine(before.node).drain != nil
	switch {
	case drained && s.current(before), c.movesAsItIs(s, i):
	case s.op != nil && (s.op.paused || !slices.Contains(s.op.slots, i.id.Ordinal)):
		c.breach("P6", "%s is placed beside %s in phase %s of slots %v, paused: %t", i.id, before.id, s.op.phase, s.op.slots, s.op.paused)
	case s.op != nil:
	case c.facts.rebalance == nil || c.facts.moves == c.facts.rebalance.MaxMoves:
		c.breach("moves", "%s moves to %s, and nothing asks for it", i.id, i.node)
	case !before.online():
		c.breach("moves", "%s moves to %s, and %s does not serve", i.id, i.node, before.id)
	default:
		c.facts.moves++
	}
}

// movesAsItIs reports whether the instance succeeds one of its own revision whose node is drained, while the update waits for people.
func (c *Checker) movesAsItIs(s *service, i *instance) bool {
	before := c.facts.instances[events.InstanceID{Service: i.id.Service, Ordinal: i.id.Ordinal, Generation: i.replaces}]
	return before != nil && c.machine(before.node).drain != nil && i.revision == before.revision &&
		s.op != nil && (s.op.paused || s.op.phase == events.OperationPromote)
}

// workedOn checks that a job has no more instances at once than its spec allows, and none in a slot that is done.
func (c *Checker) workedOn(s *service, i *instance) {
	job, live := s.spec().Jobs(), uint32(0)
	for _, slot := range s.slots {
		for _, o := range slot {
			if o.runs() {
				live++
			}
		}
	}
	switch {
	case live >= job.Parallelism:
		c.breach("jobs", "%s is placed beside %d others of %d", i.id, live, job.Parallelism)
	case s.completed[i.id.Ordinal]:
		c.breach("jobs", "%s is placed, and its slot is done", i.id)
	case i.run != s.run:
		c.breach("jobs", "%s is placed in run %d of run %d", i.id, i.run, s.run)
	case s.failures > *job.BackoffLimit:
		c.breach("jobs", "%s is placed after %d failures, and the limit is %d", i.id, s.failures, *job.BackoffLimit)
	}
}

// retired checks that an instance stops for the reason that is said.
func (c *Checker) retired(id events.ServiceID, d events.InstanceRetired) {
	i := c.facts.instances[events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation}]
	if i == nil || !i.runs() {
		c.breach("retire", "%s/%d of generation %d is retired, and the log has it %s", id, d.Ordinal, d.Generation, i)
		return
	}
	c.recovered(i.id)
	s := c.service(id)
	if why := c.unexplained(s, i, d.Reason); why != "" {
		c.breach("retire", "%s is retired as %s, and %s", i.id, d.Reason, why)
	}
	if d.Reason == events.RetireFailed || d.Reason == events.RetireLost {
		s.failures++
	}
	if d.Reason == events.RetireDrainForced && c.machine(i.node).drain != nil {
		c.machine(i.node).drain.forced = true
	}
	i.retired = true
	c.successorTakes(s, i)
}

// successorTakes has what was to take the place of an instance that goes have it from here on.
func (c *Checker) successorTakes(s *service, i *instance) {
	for _, o := range s.at(i.id.Ordinal) {
		if o.runs() && o.replaces == i.id.Generation {
			o.replaces = 0
			s.settles(o)
		}
	}
}

// unexplained says why the reason of a retirement is not so, or "". Most reasons are the coordinator's choice; these are facts.
func (c *Checker) unexplained(s *service, i *instance, reason events.RetireReason) string {
	m := c.machine(i.node)
	switch reason {
	case events.RetireScaledDown:
		return unless(!s.has(i.id.Ordinal), "the service is to have its ordinal")
	case events.RetireDropped:
		return unless(s.dropped, "its service is not dropped")
	case events.RetireSuspended:
		return unless(s.stopped, "its service is not suspended")
	case events.RetireRevised, events.RetireMakesRoom:
		return unless(s.spec().IsJob() || !s.current(i) || i.replaces > 0, "it is of the current revision")
	case events.RetireMoved:
		return unless(c.followed(s, i), "no other one serves in its place")
	case events.RetireDrained:
		return unless(m.drain != nil, "its node is not drained")
	case events.RetireDrainForced:
		return unless(m.drain != nil && !c.facts.at.Before(m.drain.until), "the deadline of the drain has not passed")
	case events.RetireCompleted:
		return unless(i.seen.Phase == events.PhaseCompleted || s.completed[i.id.Ordinal], "it is not completed")
	case events.RetireFailed:
		return unless(i.seen.Phase == events.PhaseOffline && s.specs[i.revision].IsJob(), "it has not failed, or is of no job")
	case events.RetireCrashLooping:
		return unless(i.spent && !s.spec().IsJob(), "it has restarts left")
	case events.RetireUnmatched, events.RetirePortConflict, events.RetireMoveFailed, events.RetireMoveUndone, events.RetireNodeForgotten,
		events.RetireOtherImage, events.RetireLost, events.RetireReplaced, events.RetireReturned, events.RetireGivenUp:
	}
	return ""
}

func unless(so bool, why string) string {
	if so {
		return ""
	}
	return why
}

// followed reports whether another instance serves in the place of this one.
func (c *Checker) followed(s *service, i *instance) bool {
	return slices.ContainsFunc(s.at(i.id.Ordinal), func(o *instance) bool {
		return o.runs() && o.replaces == i.id.Generation && o.online()
	})
}

// forgotten checks that an instance goes unseen only with its node.
func (c *Checker) forgotten(id events.ServiceID, d events.InstanceForgotten) {
	i := c.facts.instances[events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation}]
	if i == nil || i.removed || i.node != d.Node || !c.machine(d.Node).forgotten {
		c.breach("forget", "%s/%d of generation %d is forgotten with %s, and the log has it %s", id, d.Ordinal, d.Generation, d.Node, i)
		return
	}
	s := c.service(id)
	i.retired, i.forgotten = true, true
	c.successorTakes(s, i)
	c.remove(s, i)
}

// remove follows an instance of which nothing is left.
func (c *Checker) remove(s *service, i *instance) {
	i.removed, i.gone = true, c.Now()
	if slot := int(i.id.Ordinal); slot < len(s.slots) {
		s.slots[slot] = slices.DeleteFunc(s.slots[slot], func(o *instance) bool { return o == i })
	}
	m := c.machine(i.node)
	delete(m.instances, i.id)
	for _, p := range i.ports {
		if m.ports[p.HostPort] == i.id {
			delete(m.ports, p.HostPort)
		}
	}
}
