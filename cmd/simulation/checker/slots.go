package checker

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// placed checks a new instance: its generation is new, its slot is free, its revision is the slot's, and its node has room for it.
func (c *Checker) placed(id events.ServiceID, d events.InstancePlaced) {
	i, s := instanceOf(id, d), c.service(id)
	before := c.facts.instances[events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Replaces}]
	c.ownsSlot(s, i)
	switch {
	case s.dropped, s.stopped:
		c.breach("placement", "%s is placed, but %s is dropped: %t, or suspended", i.id, id, s.dropped)
	case !s.has(i.id.Ordinal):
		c.breach("placement", "%s is placed, but %s has %d slots without %s", i.id, id, s.scale, s.skips)
	case i.revision != s.target(i.id.Ordinal) && (before == nil || i.revision != before.revision):
		c.breach("placement", "%s is placed in revision %d, but %s must have revision %d", i.id, i.revision, id, s.revision)
	case s.spec().IsJob():
		c.workedOn(s, i)
	}
	c.fits(s, i, d)
	c.stays(s, i)
	if s.resumed != nil {
		delete(s.resumed.slots, i.id.Ordinal) // the slot has its own volumes from here on
	}
	c.add(s, i)
}

// adopted takes an instance that a node has and the log did not know, for example after a restore.
func (c *Checker) adopted(id events.ServiceID, d events.InstancePlaced) {
	i, s := instanceOf(id, d), c.service(id)
	c.must(c.facts.instances[i.id] == nil, "P5", "%s is adopted, but the log had it before", i.id)
	delete(c.machine(i.node).orphans, i.id)
	if c.rewound {
		s.settles(i) // the lost part of the log moved the slot, and its volumes are where the instance runs
	} else {
		c.stays(s, i)
	}
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
	slot := events.InstanceID{Service: i.id.Service, Ordinal: i.id.Ordinal}
	c.facts.generations[slot] = max(c.facts.generations[slot], i.id.Generation)
}

// ownsSlot checks that generations climb, and that the slot has no instance except the one to replace. An exclusive slot must be empty.
func (c *Checker) ownsSlot(s *service, i *instance) {
	last := c.facts.generations[events.InstanceID{Service: i.id.Service, Ordinal: i.id.Ordinal}]
	c.must(i.id.Generation > last, "P5", "%s is placed after generation %d: a generation is used again", i.id, last)
	found := i.replaces == 0
	for _, o := range s.at(i.id.Ordinal) {
		exclusive := i.window > 0
		switch {
		case o.runs() && o.id.Generation == i.replaces && !exclusive:
			found = true
		case o.runs() && !o.lost:
			c.breach("P5", "%s is placed while %s must run", i.id, o.id)
		case exclusive && (!o.lost || o.window == 0):
			c.breach("P5", "%s is placed while %s may still run: the slot is exclusive", i.id, o.id)
		}
	}
	c.must(found, "P5", "%s must succeed generation %d, which does not exist", i.id, i.replaces)
}

// workedOn checks that a job has at most as many instances at once as its spec allows, and none in a slot that is done.
func (c *Checker) workedOn(s *service, i *instance) {
	live := uint32(0)
	for _, o := range slices.Concat(s.slots...) {
		if o.runs() {
			live++
		}
	}
	c.must(live < s.spec().Jobs().Parallelism, "jobs", "%s is placed beside %d others, as many as the job may have or more", i.id, live)
	c.must(!s.completed[i.id.Ordinal] && i.run == s.run,
		"jobs", "%s is placed for run %d, but the job is in run %d, or the slot is done", i.id, i.run, s.run)
}

// retired checks that a retired instance was to run, and may stop.
func (c *Checker) retired(id events.ServiceID, d events.InstanceRetired) {
	i := c.facts.instances[events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation}]
	if i == nil || !i.runs() {
		c.breach("retire", "%s/%d of generation %d is retired, but the log has it %s", id, d.Ordinal, d.Generation, i)
		return
	}
	s := c.service(id)
	c.must(c.mayStop(s, i, d.Reason), "retire", "%s is retired as %s, although it serves and is needed", i.id, d.Reason)
	i.retired, i.retiredAt = true, c.Now()
	c.successorTakes(s, i)
}

// successorTakes gives the slot of an instance that goes to its successor.
func (c *Checker) successorTakes(s *service, i *instance) {
	for _, o := range s.at(i.id.Ordinal) {
		if o.runs() && o.replaces == i.id.Generation {
			o.replaces = 0
			s.settles(o)
		}
	}
}

// mayStop reports whether the instance does not serve, is not needed, has a successor that serves, or must leave its node. The checker does
// not decide for which of these reasons it stops.
func (c *Checker) mayStop(s *service, i *instance, reason events.RetireReason) bool {
	needed := s.has(i.id.Ordinal) && s.current(i) && !s.stopped && !s.dropped && !s.specs[i.revision].IsJob()
	elsewhere := []events.RetireReason{
		events.RetireUnmatched, events.RetirePortConflict, events.RetireOtherImage, events.RetireNodeForgotten, events.RetireReturned,
		events.RetireReplaced, events.RetireGivenUp,
	}
	return !needed || !i.online() || i.replaces > 0 || c.followed(s, i) || c.machine(i.node).drains || slices.Contains(elsewhere, reason)
}

// followed reports whether the instance has a successor that serves.
func (c *Checker) followed(s *service, i *instance) bool {
	return slices.ContainsFunc(s.at(i.id.Ordinal), func(o *instance) bool {
		return o.runs() && o.replaces == i.id.Generation && o.online()
	})
}

// forgotten checks that the log forgets an instance only with its node.
func (c *Checker) forgotten(id events.ServiceID, d events.InstanceForgotten) {
	i := c.facts.instances[events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation}]
	if i == nil || i.removed || i.node != d.Node || !c.machine(d.Node).forgotten {
		c.breach("forget", "%s/%d of generation %d is forgotten with %s, but the log has it %s", id, d.Ordinal, d.Generation, d.Node, i)
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

// sighted checks that the positions that a node reports of an instance climb, and that the node removes only retired instances.
func (c *Checker) sighted(id events.ServiceID, d events.Sighting) {
	seen := d.Seen()
	i := c.facts.instances[events.InstanceID{Service: id, Ordinal: seen.Ordinal, Generation: seen.Generation}]
	if i == nil || i.removed || i.node != seen.Node {
		c.breach("status", "%s reports that %s/%d of generation %d is %s, but the log has it %s",
			seen.Node, id, seen.Ordinal, seen.Generation, seen.Phase, i)
		return
	}
	m := c.machine(i.node)
	c.must(seen.Epoch == m.epoch, "status", "%s is reported as %s in epoch %d of %s, which is in epoch %d",
		i.id, seen.Phase, seen.Epoch, i.node, m.epoch)
	finally := seen.Position == i.seen && seen.NoRestart != "" && !i.rests // the node stopped it after it was unhealthy
	c.must(climbs(i.seen, seen.Position) || finally, "status", "the position of %s goes back from %v to %v", i.id, i.seen, seen.Position)
	if seen.Phase != events.PhaseOnline || seen.Attempt != i.seen.Attempt {
		i.serves = time.Time{}
	}
	i.seen = seen.Position
	if i.online() && i.serves.IsZero() {
		i.serves = c.facts.at
	}
	i.rests = seen.Phase >= events.PhaseCompleted || (seen.Phase == events.PhaseOffline && seen.NoRestart != "")
	s := c.service(id)
	switch seen.Phase {
	case events.PhaseOffline:
		c.refers(i, seen)
	case events.PhaseCompleted:
		c.completed(s, i)
	case events.PhaseRemoved:
		c.must(i.retired, "P9", "%s is removed, but must run", i.id)
		c.remove(s, i)
	case events.PhasePlaced, events.PhasePrepared, events.PhaseStarted, events.PhaseOnline, events.PhaseStopped:
	}
}

// climbs reports whether a position is further than another. An offline instance may be offline for another reason later, and online again
// after that.
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

// completed checks that a completed instance is of a job, and ended by itself without an error. It skips a restored log, whose revisions
// may differ from those of nodes.
func (c *Checker) completed(s *service, i *instance) {
	switch {
	case c.rewound:
	case !s.specs[i.revision].IsJob():
		c.breach("jobs", "%s completed, but is not of a job", i.id)
	case !c.engines.finished[i.id]:
		c.breach("jobs", "%s completed, but its container did not end by itself without an error", i.id)
	}
	if i.revision == s.revision && i.run == s.run {
		s.completed[i.id.Ordinal] = true
	}
}

// answers checks that the answers of an instance climb, and that the instance has done what it confirms.
func (c *Checker) answers(id events.ServiceID, d events.Answer) {
	a := d.Asked()
	i := c.facts.instances[events.InstanceID{Service: id, Ordinal: a.Ordinal, Generation: a.Generation}]
	if i == nil || i.removed || i.node != a.Node || (a.Operation == i.answer.Operation && !a.Above(i.answer) && !c.heldAgain(i, a)) {
		c.breach("status", "%s/%d of generation %d answers %+v, but the log has it %s", id, a.Ordinal, a.Generation, a.Confirmation, i)
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
	c.must(a.Phase == events.OperationExport || c.rewound || c.engines.did[i.id][a.Confirmation],
		"P6", "%s confirms %+v, but has not done it", i.id, a.Confirmation)
}

// heldAgain reports whether the answer is to a snapshot. An instance with a new container does its part again.
func (c *Checker) heldAgain(i *instance, a events.InstanceAsked) bool {
	s := c.service(i.id.Service)
	return s.op != nil && s.op.keeps() && s.op.sequence == a.Operation
}

// fits checks that the node of a new instance takes instances, and has the resources that are reserved for it.
func (c *Checker) fits(s *service, i *instance, d events.InstancePlaced) {
	spec := s.specs[i.revision]
	if !c.facts.takesInstances(i.node) {
		c.breach("placement", "%s is placed on %s, which takes no instances", i.id, i.node)
		return
	}
	c.must(spec.Exclusive == (i.window > 0) && (!spec.Exclusive || d.Window >= events.MinWindow),
		"liveness", "%s may run for %s while its node is silent, and is exclusive: %t", i.id, i.window, spec.Exclusive)
	c.reserves(i, spec)
	c.ports(i, spec)
}

// reserves checks that a node reserves at least what the spec requests, and in total at most what it has.
func (c *Checker) reserves(i *instance, spec events.Spec) {
	asks := i.reserved
	c.must(asks.CPU >= spec.Requests.CPU && asks.Memory >= spec.Requests.Memory && asks.Disk >= spec.Requests.Disk,
		"capacity", "%s has %+v reserved on %s, but requests %+v", i.id, asks, i.node, spec.Requests)
	all, has := asks, c.machine(i.node).facts.Allocatable()
	for _, o := range c.machine(i.node).instances {
		all = all.Plus(o.takes())
	}
	c.must(!over(asks.CPU, all.CPU, has.CPU) && !over(asks.Memory, all.Memory, has.Memory) && !over(asks.Disk, all.Disk, has.Disk),
		"capacity", "%s has %+v reserved on %s, which now reserves %+v of its %+v", i.id, asks, i.node, all, has)
}

// over reports whether a node reserves more than it has, for an instance that asks for some of it.
func over[T events.CPU | events.Size](asks, all, has T) bool { return asks > 0 && has > 0 && all > has }

// ports checks that an instance has each port of its spec, in the node's range, and shares none of them with another instance.
func (c *Checker) ports(i *instance, spec events.Spec) {
	m := c.machine(i.node)
	c.must(len(i.ports) == len(spec.Ports), "capacity", "%s gets %d ports of %d", i.id, len(i.ports), len(spec.Ports))
	for _, p := range i.ports {
		other, taken := m.ports[p.HostPort]
		c.must(!taken && m.facts.OffersPort(p.HostPort),
			"capacity", "%s gets port %d of %s, which is out of the node's range or held by %s", i.id, p.HostPort, i.node, other)
	}
}
