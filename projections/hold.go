package projections

import "github.com/rookery-project/rookery/events"

// Hold is a node that is held for a service which waits for one: of what began to wait later, nothing new is placed there.
type Hold struct {
	Service *Service // nil where none is held
	Node    string
}

// Held returns the node that is held. There is one at most, and its service's Pending names it.
func (c *Cluster) Held() Hold {
	if c.holder == nil {
		return Hold{}
	}
	return Hold{Service: c.holder, Node: c.holder.Pending.Holds}
}

// noteHeld follows what was said of a service that waits. What was said of the one before it holds no more.
func (c *Cluster) noteHeld(s *Service) {
	if s.Pending.Holds == "" {
		return
	}
	if before := c.holder; before != nil && before != s {
		before.Pending = nil
	}
	c.holder = s
}

// noteHolder has the hold end with what was said of its service.
func (c *Cluster) noteHolder(id events.ServiceID) {
	if h := c.holder; h != nil && h.ID == id && (c.Services[id] != h || h.Pending == nil || h.Pending.Holds == "") {
		c.holder = nil
	}
}

// letGo ends a hold for what the service asked for until now.
func (c *Cluster) letGo(s *Service) {
	if c.holder == s {
		s.Pending = nil
	}
}
