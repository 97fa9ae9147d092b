package projections

import "github.com/rookery-project/rookery/events"

// Hold is a node that is held for a service which waits for one: of what began to wait later, nothing new is placed there.
type Hold struct {
	Service *Service // nil where none is held
	Node    string
}

// Held returns the node that is held. There is one at most, whatever others were told before. None is held for a service that is left alone.
func (c *Cluster) Held() Hold {
	if c.Holder.Name == "" || c.HampersAt(events.ServiceScope(c.Holder), 0) != nil {
		return Hold{}
	}
	s := c.Services[c.Holder]
	return Hold{Service: s, Node: s.Pending.Holds}
}

// noteHolder has a hold end with what was said of its service.
func (c *Cluster) noteHolder(id events.ServiceID) {
	if c.Holder.Name == "" || c.Holder != id {
		return
	}
	if s := c.Services[id]; s == nil || s.Pending == nil || s.Pending.Holds == "" {
		c.Holder = events.ServiceID{}
	}
}

// letGo ends a hold for what the service asked for until now.
func (c *Cluster) letGo(s *Service) {
	if c.Holder == s.ID {
		s.Pending = nil
	}
}
