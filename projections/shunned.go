package projections

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Shunned is a unit of work that the coordinator skips, because an internal error kept it from deciding the unit.
type Shunned struct {
	Unit  events.Unit
	Since time.Time
	// Message says what failed.
	Message string
}

// String tells an operator which unit the coordinator skips, and why.
func (s Shunned) String() string {
	return "the coordinator skips the " + s.Unit.String() + " because of an internal error: " + s.Message
}

// Shuns reports whether the coordinator skips the unit.
func (c *Cluster) Shuns(u events.Unit) bool {
	return slices.ContainsFunc(c.Shunned, func(s Shunned) bool { return s.Unit == u })
}

// ShunnedOf returns the shunned units of a scope.
func (c *Cluster) ShunnedOf(scope events.Scope) []Shunned {
	var found []Shunned
	for _, s := range c.Shunned {
		if s.Unit.Scope == scope {
			found = append(found, s)
		}
	}
	return found
}

// Hampers returns the shunned unit that keeps the command from ending, or nil.
func (c *Cluster) Hampers(cmd *Command) *Shunned { return c.HampersAt(cmd.Scope(), cmd.Sequence) }

// HampersAt returns the shunned unit that keeps work of the scope, or the command of this sequence, from ending; or nil.
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

// applyUnit notes that a unit is shunned or tried again. The coordinator decides a status only once, so it has nothing to try again: a
// shunned status is not kept.
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

// unshun drops the units whose input the record changes, which the coordinator then tries again, and the units that are gone.
func (c *Cluster) unshun(r events.Record) {
	changes := changesInput(r.Data)
	c.Shunned = slices.DeleteFunc(c.Shunned, func(s Shunned) bool {
		return (changes && s.Unit.Scope == r.Scope) || c.isGone(s.Unit)
	})
}

// changesInput reports whether the event changes the desired state, or the facts of a node.
func changesInput(d events.Data) bool {
	switch d.(type) {
	case events.CommandAccepted, events.CommandBegun, events.ServiceRevised, events.ServiceScaled, events.ServiceDropped,
		events.NodeJoined, events.NodeUpdated, events.PolicyChanged, events.RebalanceStarted:
		return true
	}
	return false
}

// isGone reports whether the command, service, group or node of the unit no longer exists.
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
