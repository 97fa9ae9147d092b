package checker

import (
	"slices"

	"github.com/rookery-project/rookery/events"
)

// group is several services that one command changes together, stage by stage.
type group struct {
	id      events.GroupID
	members map[events.ServiceID]bool
	stages  [][]string
	stage   uint32
	// aborted says that all go back, and back that the present stage does.
	aborted, back bool
	ended         bool
}

// holds reports whether the group has the service. There may be no group.
func (g *group) holds(id events.ServiceID) bool { return g != nil && !g.ended && g.members[id] }

// group checks an event of a group: it has each service once, goes through its stages in order, and begins none before all services
// of the one before are as they must be.
func (c *Checker) group(id events.GroupID, d events.Data) {
	switch d := d.(type) {
	case events.GroupStarted:
		c.groupStarts(id, d)
	case events.GroupEntered:
		c.groupEnters(c.facts.groups[d.Command], d)
	case events.GroupAborted:
		if g := c.facts.groups[d.Command]; g == nil || g.ended || g.aborted {
			c.breach("groups", "group %s is aborted, and it goes back or has ended", id)
		} else {
			g.aborted = true
		}
	case events.GroupEnded:
		c.groupEnds(c.facts.groups[d.Command], id, d)
	}
}

func (c *Checker) groupStarts(id events.GroupID, d events.GroupStarted) {
	g := &group{id: id, members: map[events.ServiceID]bool{}, stages: d.Stages}
	for name := range d.Services {
		member := id.Member(name)
		c.alone(d.Command, member)
		c.wantsNoMore(member)
		g.members[member] = true
	}
	staged := map[string]bool{}
	for _, stage := range d.Stages {
		for _, name := range stage {
			if staged[name] || !g.members[id.Member(name)] {
				c.breach("groups", "%s stands twice in the stages of group %s, or is none of its services", name, id)
			}
			staged[name] = true
		}
	}
	if len(staged) != len(d.Services) {
		c.breach("groups", "group %s has %d services, and %d in its stages", id, len(d.Services), len(staged))
	}
	c.facts.groups[d.Command] = g
}

func (c *Checker) groupEnters(g *group, d events.GroupEntered) {
	if g == nil || g.ended {
		c.breach("groups", "a group that has ended enters stage %d", d.Stage)
		return
	}
	next := g.stage + 1
	if g.aborted {
		next = g.stage
		if g.back {
			next--
		}
	}
	if d.Back != g.aborted || d.Stage != next || d.Stage < 1 || int(d.Stage) > len(g.stages) || !slices.Equal(d.Services, g.stages[d.Stage-1]) {
		c.breach("groups", "group %s enters stage %d, back: %t, after stage %d of %d, aborted: %t", g.id, d.Stage, d.Back, g.stage, len(g.stages), g.aborted)
		return
	}
	if !d.Back {
		c.reachedAll(g)
	}
	for _, name := range d.Services {
		c.wantsNoMore(g.id.Member(name))
	}
	g.stage, g.back = d.Stage, d.Back
}

// reachedAll checks that every service of the stages so far is as it must be.
func (c *Checker) reachedAll(g *group) {
	for _, stage := range g.stages[:g.stage] {
		for _, name := range stage {
			s := c.facts.services[g.id.Member(name)]
			if s == nil {
				continue // it was dropped, and is gone
			}
			if why := c.unsettled(s); why != "" {
				c.breach("groups", "group %s goes on after stage %d, and %s", g.id, g.stage, why)
			}
			c.proves(s)
		}
	}
}

func (c *Checker) groupEnds(g *group, id events.GroupID, d events.GroupEnded) {
	if g == nil || g.ended {
		c.breach("groups", "group %s ends as %s, and has ended", id, d.Outcome)
		return
	}
	g.ended = true
	for member := range g.members {
		c.wantsNoMore(member)
	}
	if d.Outcome != events.GroupDone {
		return
	}
	if g.aborted || int(g.stage) != len(g.stages) {
		c.breach("groups", "group %s is done in stage %d of %d, aborted: %t", id, g.stage, len(g.stages), g.aborted)
	}
	c.reachedAll(g)
}
