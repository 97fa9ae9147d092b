package checker

import (
	"github.com/rookery-project/rookery/events"
)

// Owner is a process of an instance, and the keys that it serves.
type Owner struct {
	Instance events.InstanceID
	Serves   []bool
}

// Owners checks that no two slots of a service serve one key at once, unless a change went on without slots that failed.
func (c *Checker) Owners(id events.ServiceID, all []Owner) {
	if s := c.facts.services[id]; s == nil || s.shares || c.rewound {
		return
	}
	var serving []*events.InstanceID
	for _, o := range all {
		if i := c.facts.instances[o.Instance]; i != nil && i.forgotten {
			continue // an operator has said that its machine is gone, and it is not
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

// told checks what instances are told: config versions climb, and a change is one of the operation in its phase.
func (c *Checker) told(id events.ServiceID, t events.Topology) {
	s := c.service(id)
	before, highest := s.topology, t.ConfigVersion
	if s.stopped {
		c.breach("P6", "%s is told %+v, and is suspended", id, t)
	}
	if before != nil && t.Equal(*before) {
		return // it says once more where the others are
	}
	if t.Change != nil {
		highest = max(highest, t.Change.ConfigVersion)
		if op := s.op; op == nil || op.rescale == nil || t.Change.Operation != op.sequence || t.Change.Attempt != op.attempt || t.Change.Phase != op.phase {
			c.breach("P6", "%s is told to %s in attempt %d of operation %d, and that is not where it is", id, t.Change.Phase, t.Change.Attempt, t.Change.Operation)
		}
	}
	switch {
	case before == nil && highest <= s.versions, before != nil && t.ConfigVersion < before.ConfigVersion:
		c.breach("P6", "%s is told config version %d after version %d", id, t.ConfigVersion, s.versions)
	case before != nil && t.ConfigVersion != before.ConfigVersion && (s.op == nil || s.op.rescale == nil || s.op.phase != events.OperationRetire):
		c.breach("P6", "%s is told config version %d before all have confirmed it", id, t.ConfigVersion)
	}
	s.topology, s.versions = &t, max(s.versions, highest)
}
