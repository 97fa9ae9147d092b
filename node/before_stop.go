package node

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// BeforeStop is what a running container is asked before it is stopped. The container itself has it: an order to stop has no
// spec, and may be all that a process which begins anew hears of the instance.
type BeforeStop struct {
	Hook events.Hook `json:"hook"`
	// Within is how long the answer may take.
	Within events.Duration `json:"within"`
}

// BeforeStop returns what the planned container is asked before it is stopped; nil for nothing.
func (p Plan) BeforeStop() *BeforeStop {
	spec := p.Order.Spec
	if p.Role != RoleMain || spec.Hooks == nil || spec.Hooks.BeforeStop == nil {
		return nil
	}
	return &BeforeStop{*spec.Hooks.BeforeStop, spec.StopGrace}
}

// mustMakeReady reports whether the container is to be asked before it is stopped: once for each order to stop it, whatever comes of
// that, and again by each process of the node.
func (v View) mustMakeReady() bool {
	c := v.Container
	return c.State == Running && c.Role == RoleMain && c.BeforeStop != nil && v.MadeReady != c.Handle
}

// madeReady follows the answer of the container, or what came instead.
func (v View) madeReady() View {
	v.MadeReady = v.Container.Handle
	return v
}

// AskWithin is how long the answer of the container that is to be stopped may take.
func (v View) AskWithin() time.Duration { return time.Duration(v.Container.BeforeStop.Within) }
