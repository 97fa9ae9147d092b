package checker

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// serviceChanges checks an event that changes what a service must be: revisions and runs climb, and a suspension does not begin twice.
func (c *Checker) serviceChanges(id events.ServiceID, d events.Data) {
	s := c.service(id)
	switch d := d.(type) {
	case events.ServiceRevised:
		c.revised(s, d)
	case events.ServiceScaled:
		c.must(len(d.Skips) == 0 || !s.spec().Positional(),
			"placement", "%s is scaled to %d without slots %s, but its instances know their ordinals", id, d.Scale, d.Skips)
		s.scale, s.skips = d.Scale, d.Skips
		if s.spec().Global() { // the nodes determine the scale, not an operator
			return
		}
	case events.ServiceDropped:
		s.dropped, s.suspended, s.stopped, s.resumed = true, false, false, nil
	case events.ServiceRemoved:
		n := s.count()
		c.must(n == 0 && s.dropped, "P9", "%s is removed with %d instances, dropped: %t", id, n, s.dropped)
		delete(c.facts.services, id)
		return
	case events.ServiceSuspended:
		c.must(!s.suspended && !s.dropped && !s.spec().IsJob() && s.revision > 0,
			"suspend", "%s is suspended, but was so before: %t, is dropped: %t, or is a job", id, s.suspended, s.dropped)
		s.taken = 0
		s.suspended, s.stopped = true, s.count() == 0 && !s.rescales()
	case events.ServiceResumed:
		c.resumes(s, d)
	case events.ServiceFired:
		c.fired(s, d.Run, s.run+1, d.Scheduled)
		s.run, s.completed = d.Run, map[uint32]bool{}
		return
	case events.ServiceSkipped:
		c.fired(s, d.Run, s.run, d.Scheduled)
		return
	}
	s.changed = c.facts.sequence
}

// count counts the instances of a service that are not removed.
func (s *service) count() (count int) {
	for _, slot := range s.slots {
		count += len(slot)
	}
	return count
}

// rescales reports whether the topology differs from the scale.
func (s *service) rescales() bool {
	return s.topology != nil && (s.topology.Scale != s.scale || s.topology.Change != nil)
}

// revised checks that revisions climb by one, and that revisions which the event calls alike have the same spec of instances.
func (c *Checker) revised(s *service, d events.ServiceRevised) {
	c.must(d.Revision == s.revision+1, "revisions", "revision %d of %s follows revision %d", d.Revision, s.id, s.revision)
	c.must(!s.suspended || s.dropped, "suspend", "%s gets revision %d while it is suspended", s.id, d.Revision)
	s.keeps = map[uint64]bool{}
	for _, n := range append([]uint64{d.Of}, d.Keeps...) {
		c.must(n == 0 || ofInstances(s.specs[n]) == ofInstances(d.Spec),
			"revisions", "revision %d of %s claims to be like revision %d, which has another spec", d.Revision, s.id, n)
	}
	for _, n := range d.Keeps {
		s.keeps[n] = true
	}
	s.revision, s.dropped, s.specs[d.Revision] = d.Revision, false, d.Spec
	if d.Spec.Topology == nil {
		s.topology = nil
	}
	if d.Spec.Positional() {
		s.skips = nil
	}
	s.shares = s.shares || d.Spec.Hooks == nil || d.Spec.Hooks.Release == nil || d.Spec.Hooks.Acquire == nil
	s.run, s.completed, s.due = 0, map[uint32]bool{}, c.facts.at
}

// ofInstances returns the hash of a spec without the fields that say how instances are replaced and snapshots taken.
func ofInstances(spec events.Spec) string {
	spec.Update, spec.Snapshot = nil, nil
	return spec.Hash()
}

// fired checks that the runs of a job climb, and that no run comes early or twice.
func (c *Checker) fired(s *service, run, want uint64, at time.Time) {
	c.must(run == want && at.After(s.due) && !at.After(c.facts.at),
		"jobs", "run %d of %s is due at %s, after one due at %s: want run %d, at or before %s", run, s.id, at, s.due, want, c.facts.at)
	s.due = at
}

// Owner is a process of an instance, and the keys that it serves.
type Owner struct {
	Instance events.InstanceID
	Serves   []bool
}

// Owners checks that no two slots of a service serve one key at once. It skips a service whose change continued without failed slots.
func (c *Checker) Owners(id events.ServiceID, all []Owner) {
	if s := c.facts.services[id]; s == nil || s.shares || c.rewound {
		return
	}
	var serving []*events.InstanceID
	for _, o := range all {
		if c.wentWithNode(o.Instance) {
			continue
		}
		for key, serves := range o.Serves {
			if key >= len(serving) {
				serving = append(serving, nil)
			}
			if other := serving[key]; serves && other != nil && *other != o.Instance {
				c.breach("owners", "%s and %s both serve key %d", *other, o.Instance, key)
			}
			if serves {
				serving[key] = &o.Instance
			}
		}
	}
}

// told checks the topologies that instances are told of: config versions climb, and take effect once all instances have confirmed them.
func (c *Checker) told(id events.ServiceID, t events.Topology) {
	s := c.service(id)
	before, highest := s.topology, t.ConfigVersion
	c.must(!s.stopped, "P6", "%s is told %+v, and is suspended", id, t)
	if before != nil && t.Equal(*before) {
		return // the event only repeats the addresses of the peers
	}
	if t.Change != nil {
		highest = max(highest, t.Change.ConfigVersion)
	}
	switch {
	case before == nil && highest <= s.versions, before != nil && t.ConfigVersion < before.ConfigVersion:
		c.breach("P6", "%s is told config version %d after version %d", id, t.ConfigVersion, s.versions)
	case before != nil && t.ConfigVersion != before.ConfigVersion && (s.op == nil || s.op.rescale == nil || s.op.phase != events.OperationRetire):
		c.breach("P6", "%s is told config version %d before all have confirmed it", id, t.ConfigVersion)
	}
	s.topology, s.versions = &t, max(s.versions, highest)
}
