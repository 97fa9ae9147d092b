package checker

import (
	"slices"

	"github.com/rookery-project/rookery/events"
)

// fits checks that the node of a new instance is one that takes instances and has what the spec asks for. Each rule is a predicate
// of one instance and one node; which of the nodes that fit is the best is not decided here.
func (c *Checker) fits(s *service, i *instance, d events.InstancePlaced) {
	f, m, spec := c.facts, c.machine(i.node), s.specs[i.revision]
	if !f.takesInstances(i.node) {
		c.breach("placement", "%s is placed on %s, which takes no instances", i.id, i.node)
		return
	}
	if why := excludes(spec, m.facts, f.policy); why != "" {
		c.breach("placement", "%s is placed on %s, which %s", i.id, i.node, why)
	}
	if why := c.beside(s, i, spec, func(o *instance) bool { return !o.lost }); why != "" {
		c.breach("placement", "%s is placed on %s, which %s", i.id, i.node, why)
	}
	if spec.Exclusive != (i.window > 0) || (spec.Exclusive && d.Window < events.MinWindow) {
		c.breach("liveness", "%s may run %s while its node is not heard, and is exclusive: %t", i.id, i.window, spec.Exclusive)
	}
	c.reserves(i, spec)
	c.ports(i, spec)
}

// excludes says what of a spec a node does not meet, or "".
func excludes(spec events.Spec, n events.NodeFacts, policy events.Policy) string {
	for label, value := range spec.NodeSelector {
		if n.Labels[label] != value {
			return "does not have the label " + label + "=" + value
		}
	}
	if len(spec.Zones) > 0 && !policy.ZoneAffinity.Soft && !slices.Contains(spec.Zones, n.Zone) {
		return "is in none of the zones"
	}
	return ""
}

// beside says what of the instances on the node that count keeps another of the service away, or "".
func (c *Checker) beside(s *service, i *instance, spec events.Spec, counts func(*instance) bool) string {
	own := uint32(0)
	for id, o := range c.machine(i.node).instances {
		if !o.runs() || !counts(o) {
			continue
		}
		if id.Service == s.id && o.id.Generation != i.replaces {
			own++
		}
		if peer := c.facts.services[id.Service]; !c.facts.policy.AntiAffinity.Soft && id.Service.Namespace == s.id.Namespace &&
			peer != nil && o.id.Generation != i.replaces && events.MatchAll(spec.AntiAffinity, peer.specs[o.revision].Labels) {
			return "has " + id.String() + ", which it is to be apart from"
		}
	}
	if spec.MaxPerNode > 0 && own >= spec.MaxPerNode {
		return "has as many of it as a node may have"
	}
	return ""
}

// reserves checks that a node never gives away more than it has, and gives what the spec requests.
func (c *Checker) reserves(i *instance, spec events.Spec) {
	asks := i.reserved
	if asks.CPU < spec.Requests.CPU || asks.Memory < spec.Requests.Memory || asks.Disk < spec.Requests.Disk {
		c.breach("capacity", "%s has %+v set aside on %s, and requests %+v", i.id, asks, i.node, spec.Requests)
	}
	if lacks := c.lacks(i, nil); lacks != (events.Resources{}) {
		c.breach("capacity", "%s has %+v set aside on %s, which lacks %+v of it", i.id, asks, i.node, lacks)
	}
}

// ports checks that an instance has each port of its spec, in the node's range, and that no other instance has one of them.
func (c *Checker) ports(i *instance, spec events.Spec) {
	m := c.machine(i.node)
	if len(i.ports) != len(spec.Ports) {
		c.breach("capacity", "%s gets %d ports of %d", i.id, len(i.ports), len(spec.Ports))
	}
	for _, p := range i.ports {
		if other, taken := m.ports[p.HostPort]; taken || !m.facts.OffersPort(p.HostPort) {
			c.breach("capacity", "%s gets port %d of %s, which is out of its range or held by %s", i.id, p.HostPort, i.node, other)
		}
	}
}
