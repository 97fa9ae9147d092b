package projections

import "github.com/rookery-project/rookery/events"

// Hold is a node that is held for a service without room: the coordinator places no new instance there for services that began to wait
// later.
type Hold struct {
	Service *Service // nil where no node is held
	Node    string
}

// Held returns the node that is held. At most one node is held, also where events named others earlier. No node is held for a service that
// the coordinator skips.
func (c *Cluster) Held() Hold {
	if c.Holder.Name == "" || c.HampersAt(events.ServiceScope(c.Holder), 0) != nil {
		return Hold{}
	}
	s := c.Services[c.Holder]
	return Hold{Service: s, Node: s.Pending.Holds}
}

// noteHolder ends a hold once the Pending of its service names no node.
func (c *Cluster) noteHolder(id events.ServiceID) {
	if c.Holder.Name == "" || c.Holder != id {
		return
	}
	if s := c.Services[id]; s == nil || s.Pending == nil || s.Pending.Holds == "" {
		c.Holder = events.ServiceID{}
	}
}

// letGo ends the hold for the service's earlier target.
func (c *Cluster) letGo(s *Service) {
	if c.Holder == s.ID {
		s.Pending = nil
	}
}
