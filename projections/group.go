package projections

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Group is several services that one command changes together, stage by stage.
type Group struct {
	ID events.GroupID
	// Command is the sequence of the command, which holds each of the services.
	Command uint64
	// Services are what each shall be, by name, and Stages the order in which they change.
	Services map[string]events.GroupMember
	Stages   [][]string
	// Before is what those that have changed were asked to be, by name; without those that there were none of, or that were to be
	// dropped.
	Before map[string]events.GroupBefore `json:",omitempty"`
	// Stage counts from 1; 0 before the first. It has gone on since Entered.
	Stage   uint32
	Entered time.Time
	// Unsettled are the services that are not as they shall be, by name, and since when. Settled are those of them that are for less time
	// than counts.
	Unsettled map[string]time.Time `json:",omitempty"`
	Settled   map[string]time.Time `json:",omitempty"`
	// Aborted says why all go back; "" where they do not. Back says that the present stage does.
	Aborted string `json:",omitempty"`
	Back    bool   `json:",omitzero"`
}

// GroupOf returns the group that holds the service, whether there is that service yet or not; nil for none.
func (c *Cluster) GroupOf(id events.ServiceID) *Group { return c.Groups[c.members[id]] }

// GroupNamed returns the group of that name that has not ended; nil for none.
func (c *Cluster) GroupNamed(id events.GroupID) *Group {
	for _, g := range c.Groups {
		if g.ID == id {
			return g
		}
	}
	return nil
}

// HolderOf returns the command that is being carried out for the service, whether there is that service yet or not; 0 for none.
func (c *Cluster) HolderOf(id events.ServiceID) uint64 {
	if s := c.Services[id]; s != nil && s.Holder != 0 {
		return s.Holder
	}
	return c.members[id]
}

// Names returns those of the group's services, in order.
func (g *Group) Names() []string { return slices.Sorted(maps.Keys(g.Services)) }

// Members returns the services of the group, in order.
func (g *Group) Members() []events.ServiceID {
	ids := make([]events.ServiceID, 0, len(g.Services))
	for _, name := range g.Names() {
		ids = append(ids, g.ID.Member(name))
	}
	return ids
}

// Reached returns the services that have changed by now: those of the present stage and of all before it.
func (g *Group) Reached() []events.ServiceID {
	var ids []events.ServiceID
	for _, stage := range g.Stages[:g.Stage] {
		for _, name := range stage {
			ids = append(ids, g.ID.Member(name))
		}
	}
	return ids
}

// Present returns the services whose time it is: on the way back those of the present stage, and else all that have changed.
func (g *Group) Present() []events.ServiceID {
	all := g.Reached()
	if g.Back {
		return all[len(all)-len(g.Stages[g.Stage-1]):]
	}
	return all
}

// Since is from when on the time counts in which the service makes no progress: it was as it shall be before, or its turn came.
func (g *Group) Since(id events.ServiceID) time.Time {
	if since := g.Unsettled[id.Name]; since.After(g.Entered) {
		return since
	}
	return g.Entered
}

// noteUnsettled follows whether a service of a group is as it shall be.
func (c *Cluster) noteUnsettled(id events.ServiceID, now time.Time) {
	if len(c.members) == 0 {
		return
	}
	g := c.GroupOf(id)
	if g == nil {
		return
	}
	s, name := c.Services[id], id.Name
	_, known := g.Unsettled[name]
	since, settled := g.Settled[name]
	switch {
	case s == nil || s.Proven(now):
		delete(g.Unsettled, name)
		delete(g.Settled, name)
	case s.Settled() && !settled:
		g.Settled[name] = now
	case s.Settled():
	case !known, settled && now.Sub(since) >= s.Current().Spec.FirstHealthy():
		g.Unsettled[name] = now
		delete(g.Settled, name)
	default:
		delete(g.Settled, name)
	}
}

// applyGroup takes an event of a group into the state.
func (c *Cluster) applyGroup(r events.Record) bool {
	switch d := r.Data.(type) {
	case events.GroupStarted:
		id, _ := r.Scope.Group()
		c.startGroup(&Group{
			ID: id, Command: d.Command, Services: d.Services, Stages: d.Stages, Entered: r.Time,
			Before: map[string]events.GroupBefore{}, Unsettled: map[string]time.Time{}, Settled: map[string]time.Time{},
		})
	case events.GroupEntered:
		if g := c.Groups[d.Command]; g != nil {
			g.Stage, g.Back, g.Entered = d.Stage, d.Back, r.Time
			c.noteBefore(g, d.Before)
		}
	case events.GroupAborted:
		if g := c.Groups[d.Command]; g != nil {
			g.Aborted = d.Message
		}
	case events.GroupEnded:
		if g := c.Groups[d.Command]; g != nil {
			c.endGroup(g, d.Outcome)
		}
	default:
		return false
	}
	return true
}

// startGroup has the group's command hold each of its services.
func (c *Cluster) startGroup(g *Group) {
	c.Groups[g.Command] = g
	for _, id := range g.Members() {
		c.members[id] = g.Command
		if s := c.Services[id]; s != nil {
			s.heldBy(g.Command)
		}
	}
}

// noteBefore keeps what services go back to.
func (c *Cluster) noteBefore(g *Group, before map[string]events.GroupBefore) {
	for name, was := range before {
		g.Before[name] = was
		if s := c.Services[g.ID.Member(name)]; s != nil {
			s.Before = was.Revision
		}
	}
}

// endGroup has the group hold its services no more. All of one that is done are as they shall be.
func (c *Cluster) endGroup(g *Group, outcome events.GroupOutcome) {
	for _, id := range g.Members() {
		delete(c.members, id)
		s := c.Services[id]
		if s == nil || s.Holder != g.Command {
			continue
		}
		_, changed := g.Before[id.Name]
		if outcome == events.GroupDone {
			s.settled()
		}
		s.Holder, s.Before, s.TakesBack = 0, 0, changed && outcome != events.GroupDone && outcome != events.GroupAbandoned
	}
	delete(c.Groups, g.Command)
}
