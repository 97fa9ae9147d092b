package projections

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Shunned is a unit of work that the coordinator leaves alone because it failed to decide it.
type Shunned struct {
	Unit  events.Unit
	Since time.Time
	// Message says what failed.
	Message string
}

// String says for operators what is shunned, and why.
func (s Shunned) String() string {
	return "the coordinator leaves the " + s.Unit.String() + " alone, because of a defect of its own: " + s.Message
}

// Shuns reports whether the coordinator leaves the unit alone.
func (c *Cluster) Shuns(u events.Unit) bool {
	return slices.ContainsFunc(c.Shunned, func(s Shunned) bool { return s.Unit == u })
}

// ShunnedOf returns what is shunned of a scope.
func (c *Cluster) ShunnedOf(scope events.Scope) []Shunned {
	var found []Shunned
	for _, s := range c.Shunned {
		if s.Unit.Scope == scope {
			found = append(found, s)
		}
	}
	return found
}

// Hampers returns the shunned unit without which the command cannot come to its end, or nil.
func (c *Cluster) Hampers(cmd *Command) *Shunned { return c.HampersAt(cmd.Scope(), cmd.Sequence) }

// HampersAt returns the shunned unit without which nothing of the scope comes to its end, and no command of this sequence, or nil.
func (c *Cluster) HampersAt(scope events.Scope, sequence uint64) *Shunned {
	for i, s := range c.Shunned {
		if s.Unit.Scope != scope || (s.Unit.Sequence != 0 && s.Unit.Sequence != sequence) {
			continue
		}
		if s.Unit.Work == events.WorkReconcile || s.Unit.Work == events.WorkDue {
			return &c.Shunned[i]
		}
	}
	return nil
}

// applyUnit takes in that a unit is shunned or tried again. An input is decided once: nothing of it is left to shun.
func (c *Cluster) applyUnit(r events.Record) bool {
	switch d := r.Data.(type) {
	case events.UnitShunned:
		u := events.Unit{Work: d.Work, Scope: r.Scope, Sequence: d.Sequence}
		if d.Work != events.WorkStatus && !c.Shuns(u) {
			c.Shunned = append(c.Shunned, Shunned{Unit: u, Since: r.Time, Message: d.Message})
		}
	case events.UnitRetried:
		u := events.Unit{Work: d.Work, Scope: r.Scope, Sequence: d.Sequence}
		c.Shunned = slices.DeleteFunc(c.Shunned, func(s Shunned) bool { return s.Unit == u })
	default:
		return false
	}
	return true
}

// unshun lets go of units whose input the record changes, and of those that are gone: the former are tried again.
func (c *Cluster) unshun(r events.Record) {
	changes := changesInput(r.Data)
	c.Shunned = slices.DeleteFunc(c.Shunned, func(s Shunned) bool {
		return (changes && s.Unit.Scope == r.Scope) || c.isGone(s.Unit)
	})
}

// changesInput reports whether the event says that something else is wanted, or comes from somewhere else.
func changesInput(d events.Data) bool {
	switch d.(type) {
	case events.CommandAccepted, events.CommandBegun, events.ServiceRevised, events.ServiceScaled, events.ServiceDropped,
		events.NodeJoined, events.NodeUpdated, events.PolicyChanged, events.RebalanceStarted:
		return true
	}
	return false
}

// isGone reports whether the command, service, group or node of the unit is no longer there.
func (c *Cluster) isGone(u events.Unit) bool {
	if _, open := c.open[u.Sequence]; u.Sequence != 0 && !open {
		return true
	}
	if id, ok := u.Scope.Service(); ok {
		return c.Services[id] == nil && len(c.Queues[id]) == 0
	}
	if id, ok := u.Scope.Group(); ok {
		return c.GroupNamed(id) == nil
	}
	name, ok := u.Scope.Node()
	return ok && c.Nodes[name] == nil
}
