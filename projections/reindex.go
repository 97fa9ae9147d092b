package projections

import (
	"maps"
	"slices"

	"github.com/rookery-project/rookery/events"
)

// reindex computes the unexported fields from the exported ones, for a state that was read from a snapshot.
func (c *Cluster) reindex() {
	for _, sequence := range slices.Sorted(maps.Keys(c.Commands)) {
		cmd := c.Commands[sequence]
		if cmd.Rejection == nil || cmd.Rejection.Code != events.CodeIDReused { // another command has the id
			c.know(cmd)
		}
		if cmd.Outcome == Accepted {
			c.open[sequence] = struct{}{}
		}
	}
	for _, n := range c.Nodes {
		n.ports = map[events.HostPort]events.InstanceID{}
		n.offer()
	}
	for _, id := range slices.SortedFunc(maps.Keys(c.Services), events.ServiceID.Compare) {
		c.reindexService(c.Services[id])
	}
	for _, g := range c.Groups {
		g.Before, g.Unsettled, g.Settled = made(g.Before), made(g.Unsettled), made(g.Settled)
		for _, id := range g.Members() {
			c.members[id] = g.Command
		}
	}
}

// made returns the map, or an empty one for nil: a snapshot does not contain empty maps.
func made[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return m
}

func (c *Cluster) reindexService(s *Service) {
	s.recount()
	for _, slot := range s.Slots {
		if slot.Current != nil {
			s.filled++
		}
		if s.Job != nil && slot.Completed() {
			s.Job.completed++
		}
	}
	for i := range s.Instances() {
		s.total++
		s.Revisions[i.Revision].used++
		n := c.Nodes[i.Node]
		last := n.LastPort
		n.hold(i)
		n.LastPort = last // hold sets it, but it belongs to the instance placed last, which may be gone
		if i.Lost {
			s.lost++
			n.lost++
		}
		if s.isAbsent(i) {
			s.absent++
		}
	}
	if s.Scheduled() {
		s.considered(s.Job.Scheduled)
	}
	s.mayWait = true
	c.index(s.ID)
}
