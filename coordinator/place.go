package coordinator

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// choose returns the node for one more instance of the service: the ready one with the fewest instances that has the
// ports free, ties by name. It returns nil where there is none.
func choose(c *projections.Cluster, s *projections.Service) *projections.Node {
	var best *projections.Node
	ports := len(s.Current().Spec.Ports)
	for _, n := range c.Nodes {
		if !n.Ready() || !n.HasPorts(ports) {
			continue
		}
		if best == nil || n.Instances() < best.Instances() ||
			(n.Instances() == best.Instances() && n.Name < best.Name) {
			best = n
		}
	}
	return best
}

// makesRoom reports whether an instance of the current revision finds its ports on the node of this one once this one
// is gone.
func makesRoom(c *projections.Cluster, s *projections.Service, i *projections.Instance) bool {
	n := c.Nodes[i.Node]
	return n.Ready() && n.HasPorts(len(s.Current().Spec.Ports)-len(i.Ports))
}

// place gives the slot its next instance. It reports false where no node can have it.
func (t *Turn) place(s *projections.Service, ordinal uint32) bool {
	n := choose(t.Cluster, s)
	if n == nil {
		return false
	}
	ports := s.Current().Spec.Ports
	var bindings []events.PortBinding
	for i, host := range n.FreePorts(len(ports)) {
		bindings = append(bindings, events.PortBinding{
			Name: ports[i].Name, Port: ports[i].Port, HostPort: host, Protocol: ports[i].Protocol,
		})
	}
	t.emit(events.ServiceScope(s.ID), events.InstancePlaced{
		Ordinal: ordinal, Generation: s.NextGeneration(ordinal), Revision: s.Revision,
		Node: n.Name, Address: n.Facts.Address, Ports: bindings,
	})
	return true
}
