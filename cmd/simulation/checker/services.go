package checker

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// serviceChanges checks an event that says what a service must be: revisions and runs climb, and nothing begins twice.
func (c *Checker) serviceChanges(id events.ServiceID, d events.Data) {
	s := c.service(id)
	switch d := d.(type) {
	case events.ServiceRevised:
		c.revised(s, d)
	case events.ServiceScaled:
		if len(d.Skips) > 0 && s.spec().Positional() {
			c.breach("placement", "%s is scaled to %d without %s, and its instances are told apart", id, d.Scale, d.Skips)
		}
		s.scale, s.skips = d.Scale, d.Skips
		if s.spec().Global() { // an operator has not changed it
			return
		}
	case events.ServiceDropped:
		s.dropped, s.suspended, s.stopped, s.resumed = true, false, false, nil
	case events.ServiceRemoved:
		if n := s.count(); n > 0 || !s.dropped {
			c.breach("P9", "%s is removed with %d instances, dropped: %t", id, n, s.dropped)
		}
		delete(c.facts.services, id)
		return
	case events.ServiceSuspended:
		if s.suspended || s.dropped || s.spec().IsJob() || s.revision == 0 {
			c.breach("suspend", "%s is suspended, and was: %t, or is dropped: %t, or a job", id, s.suspended, s.dropped)
		}
		s.suspended, s.stopped = true, s.count() == 0 && !s.rescales()
	case events.ServiceResumed:
		c.resumes(s, d)
	case events.ServiceFired:
		c.fired(s, d.Run, s.run+1, d.Scheduled)
		s.run, s.failures, s.completed = d.Run, 0, map[uint32]bool{}
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

// rescales reports whether the topology is another one than the scale asks for.
func (s *service) rescales() bool {
	return s.topology != nil && (s.topology.Scale != s.scale || s.topology.Change != nil)
}

// revised checks that revisions climb by one, and that those which are said to be alike are.
func (c *Checker) revised(s *service, d events.ServiceRevised) {
	if d.Revision != s.revision+1 {
		c.breach("revisions", "revision %d of %s follows revision %d", d.Revision, s.id, s.revision)
	}
	if s.suspended && !s.dropped {
		c.breach("suspend", "%s is of revision %d while it is suspended", s.id, d.Revision)
	}
	s.keeps = map[uint64]bool{}
	for _, n := range append([]uint64{d.Of}, d.Keeps...) {
		if n > 0 && ofInstances(s.specs[n]) != ofInstances(d.Spec) {
			c.breach("revisions", "revision %d of %s is said to be as revision %d, which has another spec", d.Revision, s.id, n)
		}
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
	s.run, s.failures, s.completed, s.due = 0, 0, map[uint32]bool{}, c.facts.at
}

// ofInstances is the hash of what a spec says of its instances, and not of how they are replaced.
func ofInstances(spec events.Spec) string {
	spec.Update, spec.Snapshot = nil, nil
	return spec.Hash()
}

// fired checks that runs of a job climb, and that none comes before its time or twice.
func (c *Checker) fired(s *service, run, want uint64, at time.Time) {
	if run != want || !at.After(s.due) || at.After(c.facts.at) {
		c.breach("jobs", "run %d of %s is due at %s after one of %s, and run %d comes at %s", run, s.id, at, s.due, want, c.facts.at)
	}
	s.due = at
}
