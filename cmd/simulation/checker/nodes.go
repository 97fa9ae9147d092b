package checker

import (
	"maps"
	"time"

	"github.com/rookery-project/rookery/events"
)

// machine is the state of a node, from the events of the log.
type machine struct {
	epoch    uint64
	silent   bool
	since    time.Time // when it became silent
	lost     bool
	unlisted bool // it must list what it has
	paused   bool
	// drains says that it must become empty, and drained that it is.
	drains, drained bool
	forgotten       bool
	// degraded says that its engine does not answer, and word is the counter of its last report about that in its epoch.
	degraded bool
	word     uint64
	// levels are those at which its process works, as far as the log says.
	levels events.Levels
	// told holds the facts that its process reported, and facts the same with the operator's overrides.
	told, facts events.NodeFacts
	overrides   events.Overrides
	// instances holds the instances that are not removed, and ports the instance of each port.
	instances map[events.InstanceID]*instance
	ports     map[uint16]events.InstanceID
	orphans   map[events.InstanceID]bool
}

func (c *Checker) machine(name string) *machine {
	m := c.facts.nodes[name]
	if m == nil {
		m = &machine{
			instances: map[events.InstanceID]*instance{}, ports: map[uint16]events.InstanceID{}, orphans: map[events.InstanceID]bool{},
		}
		c.facts.nodes[name] = m
	}
	return m
}

// takesInstances reports whether the coordinator may place instances on the node.
func (f *facts) takesInstances(name string) bool {
	m := f.nodes[name]
	return m != nil && m.epoch > 0 && !m.silent && !m.degraded && !m.paused && !m.drains && !m.forgotten && m.levels.Hold(f.level) &&
		(len(f.allowed) == 0 || f.allowed[name])
}

// nodeChanges checks an event of a node: epochs climb by one, a state begins only once, and ends only after it has begun.
func (c *Checker) nodeChanges(name string, d events.Data) {
	m := c.machine(name)
	switch d := d.(type) {
	case events.NodeJoined:
		c.joined(name, m, d)
	case events.NodeUpdated:
		m.overrides = d.Overrides
		m.facts = m.overrides.Of(m.told)
	case events.NodeSilent:
		c.must(!m.silent, "nodes", "%s becomes silent, but is silent already", name)
		m.silent, m.since = true, c.facts.at
	case events.NodeReturned:
		c.must(m.silent, "nodes", "%s returned, but was not silent", name)
		c.heard(m)
	case events.NodeLost:
		c.must(m.silent && !m.lost && !c.facts.evictionsPaused,
			"liveness", "%s is lost, but is silent: %t, lost before: %t, evictions paused: %t", name, m.silent, m.lost, c.facts.evictionsPaused)
		m.lost = true
	case events.NodeListed:
		m.unlisted = false
	case events.NodeDegraded:
		c.engineSaid(name, m, true, d.Epoch, d.Counter)
	case events.NodeRecovered:
		c.engineSaid(name, m, false, d.Epoch, d.Counter)
	case events.NodePaused:
		m.paused = true
	case events.NodeResumed:
		m.paused, m.drains, m.drained = false, false, false
	case events.StrayFound:
		m.orphans[d.ID()] = true
	case events.StrayRemoved:
		delete(m.orphans, d.ID())
	case events.StrayForgotten:
		delete(m.orphans, d.ID())
	default:
		c.leaves(name, m, d)
	}
}

func (c *Checker) joined(name string, m *machine, d events.NodeJoined) {
	before := m.epoch
	if before == 0 {
		before = c.facts.epochs
	}
	c.must(d.Epoch == before+1 && !m.forgotten,
		"nodes", "%s joins in epoch %d after epoch %d, forgotten: %t", name, d.Epoch, before, m.forgotten)
	c.must(c.facts.level >= events.LevelPrograms || d.Program == (events.Program{}),
		"levels", "%s joins with %+v in a cluster at level %d", name, d.Program, c.facts.level)
	m.epoch, m.told, m.levels, m.degraded, m.word = d.Epoch, d.NodeFacts, d.Program.Levels, false, 0
	m.facts = m.overrides.Of(m.told)
	c.heard(m)
}

// heard follows a node that sends heartbeats again. It must list what it has if one of its instances is lost.
func (c *Checker) heard(m *machine) {
	m.silent, m.lost = false, false
	for _, i := range m.instances {
		m.unlisted = m.unlisted || i.lost
	}
}

// engineSaid checks a node's report on its engine: it differs from the last one, and is later.
func (c *Checker) engineSaid(name string, m *machine, degraded bool, epoch, counter uint64) {
	c.must(m.degraded != degraded && epoch == m.epoch && counter > m.word,
		"nodes", "%s reports degraded: %t (%d of epoch %d), but its last report was: %t (%d of epoch %d)",
		name, degraded, counter, epoch, m.degraded, m.word, m.epoch)
	m.degraded, m.word = degraded, counter
}

// leaves checks an event of a node that is drained, forgotten or removed.
func (c *Checker) leaves(name string, m *machine, d events.Data) {
	switch d := d.(type) {
	case events.NodeDraining:
		m.drains, m.drained = true, false
	case events.NodeDrained:
		c.must(m.drains && !m.drained && len(m.instances)+len(m.orphans) == 0,
			"drain", "%s counts as drained, but is not draining or has %d instances and %d orphans", name, len(m.instances), len(m.orphans))
		m.drained = true
	case events.NodeForgotten:
		c.must(m.epoch == 0 || m.silent, "forget", "%s is forgotten, but is not silent", name)
		m.forgotten, m.drains, m.drained = true, false, false
		for _, s := range c.facts.services {
			maps.DeleteFunc(s.homes, func(_ uint32, home string) bool { return home == name })
		}
	case events.NodeRemoved:
		c.must(m.forgotten && d.Epoch == m.epoch && len(m.instances)+len(m.orphans) == 0,
			"forget", "%s is removed in epoch %d, but was not forgotten in it or has %d instances and %d orphans",
			name, d.Epoch, len(m.instances), len(m.orphans))
		c.facts.epochs = max(c.facts.epochs, d.Epoch)
		delete(c.facts.nodes, name)
	}
}

// lost checks that an instance is lost only with its node. The node must be silent, and the window of an exclusive instance over.
func (c *Checker) lost(id events.ServiceID, d events.InstanceLost) {
	i := c.facts.instances[events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation}]
	if i == nil || i.removed || i.lost {
		c.breach("liveness", "%s/%d of generation %d is lost, but the log has it %s", id, d.Ordinal, d.Generation, i)
		return
	}
	m := c.machine(i.node)
	silent := c.facts.at.Sub(m.since)
	c.must(m.silent && !c.facts.evictionsPaused,
		"liveness", "%s is lost, but its node is silent: %t, evictions paused: %t", i.id, m.silent, c.facts.evictionsPaused)
	c.must(i.window == 0 || silent >= i.window+events.WindowMargin,
		"liveness", "%s is lost %s after its node became silent, but may run there for %s", i.id, silent, i.window)
	i.lost, i.serves = true, time.Time{}
}

// returned checks that a lost instance returns only once its node has listed what it has, and that no other instance has its slot.
func (c *Checker) returned(id events.ServiceID, d events.InstanceReturned) {
	i := c.facts.instances[events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation}]
	if i == nil || i.removed || !i.lost {
		c.breach("liveness", "%s/%d of generation %d returns, but the log has it %s", id, d.Ordinal, d.Generation, i)
		return
	}
	m := c.machine(i.node)
	c.must(!m.silent && !m.unlisted, "liveness", "%s returns before %s has listed what it has", i.id, i.node)
	for _, o := range c.service(id).at(d.Ordinal) {
		c.must(o == i || !i.runs() || !o.runs() || o.lost || o.replaces == i.id.Generation || i.replaces == o.id.Generation,
			"P5", "%s returns while %s must run", i.id, o.id)
	}
	i.lost = false
	if i.online() {
		i.serves = c.facts.at
	}
}
