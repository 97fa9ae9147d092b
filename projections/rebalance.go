package projections

import (
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Rebalance is a rebalancing under way: the coordinator moves one instance at a time.
type Rebalance struct {
	Terms events.RebalanceTerms
	// Cause is the cause of its start.
	Cause events.Cause
	// Begun counts the moves that have begun, and Moved those that are done. Failed says which move failed, if one did.
	Begun  events.Moves
	Moved  events.Moves
	Failed string
	// Moving is the slot whose instance moves, and Since when the move began. The service's name is empty where no instance moves.
	Moving events.InstanceID
	Since  time.Time
}

// applyRebalance applies an event about the cluster's rebalancing to the state.
func (c *Cluster) applyRebalance(r events.Record) bool {
	switch d := r.Data.(type) {
	case events.RebalanceStarted:
		before := c.Rebalance
		c.Rebalance = &Rebalance{Terms: d.RebalanceTerms, Cause: r.Cause}
		if before != nil { // the present move continues
			c.Rebalance.Moving, c.Rebalance.Since = before.Moving, before.Since
		}
	case events.RebalanceEnded:
		c.Rebalance = nil
	case events.RebalanceSet:
		c.OnJoin = d.Terms
	default:
		return false
	}
	return true
}

// moves notes that an instance got a successor, so that a move has begun.
func (c *Cluster) moves(id events.InstanceID, at time.Time) {
	if c.Rebalance != nil {
		c.Rebalance.Begun++
		c.Rebalance.Moving, c.Rebalance.Since = id, at
	}
}

// moved notes that an instance is retired because of a move: its successor serves, or it is itself the successor and failed to serve.
func (c *Cluster) moved(i *Instance, reason events.RetireReason) {
	r := c.Rebalance
	switch {
	case r == nil:
	case reason == events.RetireMoved:
		r.Moved++
	case reason == events.RetireMoveFailed && r.Moving == i.ID:
		r.Failed = i.ID.String() + " on " + i.Node + " did not come to serve"
		if i.Ended().Reason != "" {
			r.Failed += strings.TrimRight(": "+string(i.Ended().Reason)+" "+i.Ended().Message, " ")
		}
	}
}

// InMotion reports whether the slot that moved last still has more than one instance on nodes that send heartbeats.
func (c *Cluster) InMotion() bool {
	if c.Rebalance == nil {
		return false
	}
	s := c.Services[c.Rebalance.Moving.Service]
	o := int(c.Rebalance.Moving.Ordinal)
	if s == nil || o >= len(s.Slots) {
		return false
	}
	slot := s.Slots[o]
	return slot.Next != nil || slices.ContainsFunc(slot.Beside().Terminating, func(i *Instance) bool { return c.Nodes[i.Node].Live() })
}
