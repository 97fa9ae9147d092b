package node

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// BeforeStop is what comes before the stop of a container. The engine keeps it with the container: an order to stop has no spec, and a
// restarted process of the node may receive only that order.
type BeforeStop struct {
	// Drain is how long the container runs on after the order to stop, while others learn that its endpoints are withdrawn.
	Drain events.Duration `json:"-"`
	// Hook is what the node then runs in the container; nil for none. Within is how long the answer may take.
	Hook   *events.Hook    `json:"hook"`
	Within events.Duration `json:"within"`
}

// BeforeStop returns what comes before the stop of the planned container; nil for nothing.
func (p Plan) BeforeStop() *BeforeStop {
	if p.Role != RoleMain {
		return nil
	}
	spec := p.Order.Spec
	comes := BeforeStop{Drain: spec.DrainsFor()}
	if spec.Hooks != nil && spec.Hooks.BeforeStop != nil {
		comes.Hook, comes.Within = spec.Hooks.BeforeStop, spec.StopGrace
	}
	if comes == (BeforeStop{}) {
		return nil
	}
	return &comes
}

// drained is the time until which the container serves on under an order to stop; zero for one that does not run or has nothing to drain.
func (v View) drained() time.Time {
	c := v.Container
	if c == nil || c.State != Running || c.BeforeStop == nil {
		return time.Time{}
	}
	until := v.Ordering.Add(time.Duration(c.BeforeStop.Drain))
	if v.Order.Window > 0 && v.yieldsAt().Before(until) {
		return v.yieldsAt() // later, the host would kill it instead
	}
	return until
}

// mustMakeReady reports whether the node must run the container's hook before it stops the container. Each process of the node runs
// the hook once for each order to stop, whether it succeeds or not.
func (v View) mustMakeReady() bool {
	c := v.Container
	return c.State == Running && c.Role == RoleMain && c.BeforeStop != nil && c.BeforeStop.Hook != nil && v.MadeReady != c.Handle
}

// madeReady returns the view after the container's hook has ended, well or not.
func (v View) madeReady() View {
	v.MadeReady = v.Container.Handle
	return v
}

// AskWithin is how long the hook before a stop may take.
func (v View) AskWithin() time.Duration { return time.Duration(v.Container.BeforeStop.Within) }
