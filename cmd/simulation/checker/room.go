package checker

import (
	"slices"

	"github.com/rookery-project/rookery/events"
)

// against says which filters keep the node from having one more instance of the service in the revision: 1 for each, by itself. What
// is to be gone by then does not count; nil for nothing. Where a filter goes by more than the node and its instances, it may hold.
func (c *Checker) against(s *service, revision uint64, name string, gone *instance) (r events.Removed) {
	f, m, spec := c.facts, c.facts.nodes[name], s.specs[revision]
	i := &instance{id: events.InstanceID{Service: s.id}, node: name, revision: revision, reserved: spec.Reserves(m.facts.Default, &f.policy)}
	r.Silent, r.Degraded, r.Paused = one(m.silent || m.forgotten), one(m.degraded), one(m.paused)
	r.Drained, r.NotAllowed = one(m.drain != nil || m.forgotten), one(len(f.allowed) > 0 && !f.allowed[name])
	excluded := one(excludes(spec, m.facts, f.policy) != "")
	beside := one(c.beside(s, i, spec, func(o *instance) bool { return o != gone }) != "")
	r.NodeSelector, r.Zone, r.AntiAffinity, r.MaxPerNode = excluded, excluded, beside, beside
	r.Ports, r.HostPort = one(c.freePorts(m, gone) < len(spec.Ports)), one(len(spec.Ports) > 0)
	lacks := c.lacks(i, gone)
	r.CPU, r.Memory, r.Disk = one(lacks.CPU > 0), one(lacks.Memory > 0), one(lacks.Disk > 0)
	r.Spread = one(c.ahead(s, spec, m.facts.Zone, gone))
	return r
}

func one(holds bool) uint32 {
	if holds {
		return 1
	}
	return 0
}

// freePorts counts the ports of the node's range that no instance has.
func (c *Checker) freePorts(m *machine, gone *instance) int {
	free := int(m.facts.Ports.Last) - int(m.facts.Ports.First) + 1
	for port, id := range m.ports {
		if m.facts.Ports.Holds(port) && (gone == nil || id != gone.id) {
			free--
		}
	}
	return free
}

// lacks is what the node of an instance has too little of for it.
func (c *Checker) lacks(i, gone *instance) (lacks events.Resources) {
	m, asks := c.machine(i.node), i.reserved
	all, has := asks, m.facts.Allocatable()
	for _, o := range m.instances {
		if o != gone {
			all = all.Plus(o.takes())
		}
	}
	if asks.CPU > 0 && has.CPU > 0 && all.CPU > has.CPU {
		lacks.CPU = all.CPU - has.CPU
	}
	if asks.Memory > 0 && has.Memory > 0 && all.Memory > has.Memory {
		lacks.Memory = all.Memory - has.Memory
	}
	if asks.Disk > 0 && has.Disk > 0 && all.Disk > has.Disk {
		lacks.Disk = all.Disk - has.Disk
	}
	return lacks
}

// ahead reports whether one more instance takes the zone further ahead of another than the policy allows, or may: where something of
// the service is lost or moves, or its spec counts others with it, that is not decided here.
func (c *Checker) ahead(s *service, spec events.Spec, zone string, gone *instance) bool {
	p := c.facts.policy.Spread
	if spec.Global() || !p.Enabled || p.Soft || (p.IgnoreScaled && s.scale > 1) {
		return false
	}
	counts := map[string]uint32{}
	for name, m := range c.facts.nodes {
		if c.facts.takesInstances(name) && excludes(spec, m.facts, c.facts.policy) == "" {
			counts[m.facts.Zone] += 0
		}
	}
	for _, slot := range s.slots {
		for _, i := range slot {
			if i.lost || i.replaces > 0 {
				return true
			}
			if _, counted := counts[c.machine(i.node).facts.Zone]; counted && i.runs() && i != gone {
				counts[c.machine(i.node).facts.Zone]++
			}
		}
	}
	least := counts[zone]
	for _, n := range counts {
		least = min(least, n)
	}
	return len(spec.Spread) > 0 || counts[zone]+1-least > p.MaxSkew
}

// pending checks that a slot which waits says so truly: each node is counted once, and no reason more often than it holds.
func (c *Checker) pending(id events.ServiceID, d events.InstancePending) {
	s := c.service(id)
	if s.stopped || s.dropped {
		c.breach("reasons", "%s/%d waits for a node, and the service is suspended or dropped", id, d.Ordinal)
	}
	most := events.Removed{Held: 1} // one node is held at a time
	if s.homes[d.Ordinal] != "" {
		most.Volumes = d.Nodes
	}
	joined := uint32(0)
	for name, m := range c.facts.nodes {
		if m.epoch > 0 {
			joined++
			most = plus(most, c.against(s, s.target(d.Ordinal), name, nil))
		}
	}
	sum := uint32(0)
	for n, count := range reasons(d.Removed) {
		sum += count
		if count > reasons(most)[n] {
			c.breach("reasons", "%s/%d waits because of %+v, and that holds for %+v", id, d.Ordinal, d.Removed, most)
			return
		}
	}
	if sum != d.Nodes || d.Nodes != joined {
		c.breach("reasons", "%s/%d waits because of %d of %d nodes, and %d have joined", id, d.Ordinal, sum, d.Nodes, joined)
	}
}

// reasons are the counts of all filters.
func reasons(r events.Removed) []uint32 {
	return []uint32{
		r.Silent, r.Degraded, r.Paused, r.Drained, r.NotAllowed, r.NodeSelector, r.Zone, r.AllowHostPort, r.AllowEngineContext,
		r.AntiAffinity, r.MaxPerNode, r.HostPort, r.Ports, r.CPU, r.Memory, r.Disk, r.Spread, r.Held, r.Volumes,
	}
}

func plus(a, b events.Removed) events.Removed {
	a.Silent, a.Degraded, a.Paused, a.Drained = a.Silent+b.Silent, a.Degraded+b.Degraded, a.Paused+b.Paused, a.Drained+b.Drained
	a.NotAllowed, a.NodeSelector, a.Zone = a.NotAllowed+b.NotAllowed, a.NodeSelector+b.NodeSelector, a.Zone+b.Zone
	a.AntiAffinity, a.MaxPerNode = a.AntiAffinity+b.AntiAffinity, a.MaxPerNode+b.MaxPerNode
	a.HostPort, a.Ports = a.HostPort+b.HostPort, a.Ports+b.Ports
	a.CPU, a.Memory, a.Disk, a.Spread = a.CPU+b.CPU, a.Memory+b.Memory, a.Disk+b.Disk, a.Spread+b.Spread
	return a
}

// failed checks that no slot of the wave has failed for want of room which its own instance of before has: that one goes for it where
// the strategy has one slot after the other go.
func (c *Checker) failed(s *service, givenUp []uint32) {
	if s.op.phase != events.OperationStart || len(s.op.together()) > 0 || s.spec().Updates().Strategy != events.UpdateRolling {
		return
	}
	for _, slot := range givenUp {
		if !slices.Contains(s.op.slots, slot) {
			continue
		}
		var before *instance
		for _, i := range s.at(slot) {
			if s.current(i) || !i.runs() || i.lost {
				before = nil
				break
			}
			before = i
		}
		if before == nil {
			continue
		}
		against := c.against(s, s.revision, before.node, before)
		if against.HostPort = 0; against == (events.Removed{}) {
			c.breach("P6", "%s: slot %d has failed, and %s could have made room for it on %s", s.id, slot, before.id, before.node)
		}
	}
}
