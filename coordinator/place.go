package coordinator

import (
	"github.com/rookery-project/rookery/coordinator/placement"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// place gives the slot its next instance. If no node can take it, place returns why.
func (t *Turn) place(s *projections.Service, ordinal uint32) *events.InstancePending {
	d := t.work.board.Choose(s, ordinal)
	if d.Node == nil {
		d.Pending.Ordinal = ordinal
		return d.Pending
	}
	t.emit(events.ServiceScope(s.ID), t.placement(s, ordinal, s.Target(ordinal), d))
	return nil
}

// placement returns the event that places the slot's next instance, of this revision, as decided.
func (t *Turn) placement(s *projections.Service, ordinal uint32, revision uint64, d placement.Decision) events.InstancePlaced {
	spec := &s.Revisions[revision].Spec
	return events.InstancePlaced{
		Ordinal: ordinal, Generation: s.NextGeneration(ordinal), Revision: revision, Run: s.Run(),
		Node: d.Node.Name, Address: d.Node.Facts.Address, Ports: bind(d.Node, spec.Ports),
		Reserved: d.Reserved, Scratch: spec.ScratchSize(&t.Cluster.Policy),
		SecurityContext: t.Cluster.Policy.SecurityContext, Window: t.windowOf(s, spec), Choice: d.Choice,
	}
}

// pend reports why a slot has no instance, unless that is what it reported last.
func (t *Turn) pend(s *projections.Service, why events.InstancePending) {
	if said := s.Pending; s.Lacks() && (said == nil || !same(*said, why)) {
		t.emit(events.ServiceScope(s.ID), why)
	}
}

// same reports whether the same filters remove nodes in both, with the same node held. How many nodes each filter removes
// changes with every instance, and does not count as a difference.
func same(a, b events.InstancePending) bool {
	return (a.Nodes == 0) == (b.Nodes == 0) && (a.Closest == nil) == (b.Closest == nil) && a.Removed.Same(b.Removed) &&
		a.Holds == b.Holds && a.HeldFor == b.HeldFor
}

// bind gives every port its host port on the node: the one that the spec names, or a free one of the node's range.
func bind(n *projections.Node, ports []events.Port) []events.PortBinding {
	picked := 0
	for _, p := range ports {
		if p.HostPort == 0 {
			picked++
		}
	}
	free := n.FreePorts(picked)
	var bindings []events.PortBinding
	for _, p := range ports {
		host := p.HostPort
		if host == 0 {
			host, free = free[0], free[1:]
		}
		bindings = append(bindings, events.PortBinding{Name: p.Name, Port: p.Port, HostPort: host, Protocol: p.Protocol})
	}
	return bindings
}
