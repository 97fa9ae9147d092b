package projections

import (
	"maps"
	"slices"

	"github.com/rookery-project/rookery/events"
)

// reindex makes all that stands beside the exported fields and follows from them, for a state that was read.
func (c *Cluster) reindex() {
	for _, sequence := range slices.Sorted(maps.Keys(c.Commands)) {
		cmd := c.Commands[sequence]
		if cmd.Rejection == nil || cmd.Rejection.Code != events.CodeIDReused { // those stand beside the one that has the id
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

// made returns the map, or an empty one where none was written because nothing was in it.
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
		n.LastPort = last // it is of the one that was placed last, whether that is there still or not
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
