package projections

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Group is a set of services that one command changes together, stage by stage.
type Group struct {
	ID events.GroupID
	// Command is the sequence of the command, which holds each of the services.
	Command uint64
	// Services holds the target of each service, by name. Stages is the order in which they change.
	Services map[string]events.GroupMember
	Stages   [][]string
	// Before holds, by name, the earlier target of each service that has changed. A service that did not exist, or that was being
	// deleted, has none.
	Before map[string]events.GroupBefore `json:",omitempty"`
	// Stage is the present stage, from 1; 0 before the first. It began at Entered.
	Stage   uint32
	Entered time.Time
	// Unsettled holds the services that are not at their target, by name, with the time since when. Settled holds those that are at
	// their target, but not yet for long enough to count.
	Unsettled map[string]time.Time `json:",omitempty"`
	Settled   map[string]time.Time `json:",omitempty"`
	// Aborted says why all services return to Before; "" where they do not. Back says that the services of the present stage do so now.
	Aborted string `json:",omitempty"`
	Back    bool   `json:",omitzero"`
}

// GroupOf returns the group that holds the service, which need not exist yet; nil for none.
func (c *Cluster) GroupOf(id events.ServiceID) *Group { return c.Groups[c.members[id]] }

// GroupNamed returns the group of that name, if it has not ended; nil for none.
func (c *Cluster) GroupNamed(id events.GroupID) *Group {
	for _, g := range c.Groups {
		if g.ID == id {
			return g
		}
	}
	return nil
}

// HolderOf returns the command that the coordinator carries out for the service, which need not exist yet; 0 for none.
func (c *Cluster) HolderOf(id events.ServiceID) uint64 {
	if s := c.Services[id]; s != nil && s.Holder != 0 {
		return s.Holder
	}
	return c.members[id]
}

// Names returns the names of the group's services, in order.
func (g *Group) Names() []string { return slices.Sorted(maps.Keys(g.Services)) }

// Members returns the services of the group, in order.
func (g *Group) Members() []events.ServiceID {
	ids := make([]events.ServiceID, 0, len(g.Services))
	for _, name := range g.Names() {
		ids = append(ids, g.ID.Member(name))
	}
	return ids
}

// Reached returns the services that have changed by now: those of the present stage and of all earlier stages.
func (g *Group) Reached() []events.ServiceID {
	var ids []events.ServiceID
	for _, stage := range g.Stages[:g.Stage] {
		for _, name := range stage {
			ids = append(ids, g.ID.Member(name))
		}
	}
	return ids
}

// Present returns the services that the group waits for: on the way back those of the present stage, otherwise all that have changed.
func (g *Group) Present() []events.ServiceID {
	all := g.Reached()
	if g.Back {
		return all[len(all)-len(g.Stages[g.Stage-1]):]
	}
	return all
}

// Since returns when the deadline for the service's progress starts: when it left its target, or when its stage began, if that is later.
func (g *Group) Since(id events.ServiceID) time.Time {
	if since := g.Unsettled[id.Name]; since.After(g.Entered) {
		return since
	}
	return g.Entered
}

// noteUnsettled notes whether a service of a group is at its target.
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

// applyGroup applies an event about a group to the state.
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

// startGroup lets the group's command hold each of its services.
func (c *Cluster) startGroup(g *Group) {
	c.Groups[g.Command] = g
	for _, id := range g.Members() {
		c.members[id] = g.Command
		if s := c.Services[id]; s != nil {
			s.heldBy(g.Command)
		}
	}
}

// noteBefore keeps the targets to which services return if the group is aborted.
func (c *Cluster) noteBefore(g *Group, before map[string]events.GroupBefore) {
	for name, was := range before {
		g.Before[name] = was
		if s := c.Services[g.ID.Member(name)]; s != nil {
			s.Before = was.Revision
		}
	}
}

// endGroup releases the group's services. When the outcome is done, all of them are at their targets.
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
