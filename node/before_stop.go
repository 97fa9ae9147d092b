package node

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// BeforeStop is the hook that the node runs in a container before it stops that. The engine keeps it with the container: an order to
// stop has no spec, and a restarted process of the node may receive only that order.
type BeforeStop struct {
	Hook events.Hook `json:"hook"`
	// Within is how long the answer may take.
	Within events.Duration `json:"within"`
}

// BeforeStop returns the hook that runs before the planned container is stopped; nil for none.
func (p Plan) BeforeStop() *BeforeStop {
	spec := p.Order.Spec
	if p.Role != RoleMain || spec.Hooks == nil || spec.Hooks.BeforeStop == nil {
		return nil
	}
	return &BeforeStop{*spec.Hooks.BeforeStop, spec.StopGrace}
}

// mustMakeReady reports whether the node must run the container's hook before it stops the container. Each process of the node runs
// the hook once for each order to stop, whether it succeeds or not.
func (v View) mustMakeReady() bool {
	c := v.Container
	return c.State == Running && c.Role == RoleMain && c.BeforeStop != nil && v.MadeReady != c.Handle
}

// madeReady returns the view after the container's hook has ended, well or not.
func (v View) madeReady() View {
	v.MadeReady = v.Container.Handle
	return v
}

// AskWithin is how long the hook before a stop may take.
func (v View) AskWithin() time.Duration { return time.Duration(v.Container.BeforeStop.Within) }
