package runner

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// instance is the node's state of one instance.
type instance struct {
	view     node.View
	sequence uint64 // of the latest order, in ROOKERY_ORDERS
	// traceParent is that of the command that caused the order; "" for none.
	traceParent string
	line        *places // the places that it waits for, nil for none
	// busy says that a step is under way in the engine; step is which one, and interrupt ends it. ended is the turn in which the last
	// step ended.
	busy      bool
	step      node.Step
	interrupt context.CancelFunc
	ended     uint64
	// checking ends the health check that is under way; nil for none.
	checking  context.CancelFunc
	informing informing
	// measuring says that the node is measuring its disk; measureAt is when the next measurement is due.
	measuring bool
	measureAt time.Time
	// disk is its last measured disk usage in bytes; nil if unknown.
	disk *uint64
	// inspecting says that the node is asking the engine about it, hinted that the node must ask again.
	inspecting bool
	hinted     bool
	// keeping says that the node is storing the last lines of its container; told are the statuses that wait for that.
	keeping bool
	told    []node.View
}

// instance returns the node's state of the instance, and creates it if the instance is new.
func (a *Agent) instance(id events.InstanceID) *instance {
	in := a.instances[id]
	if in == nil {
		in = &instance{view: node.View{Instance: id}}
		a.instances[id] = in
	}
	return in
}

// inOrder returns all instances in order.
func (a *Agent) inOrder() []*instance {
	all := make([]*instance, 0, len(a.instances))
	for _, id := range slices.SortedFunc(maps.Keys(a.instances), events.InstanceID.Compare) {
		all = append(all, a.instances[id])
	}
	return all
}

// over reports whether the instance has no container and no order that asks for anything.
func (in *instance) over() bool {
	return in.view.Container == nil && (in.view.Order.Action == events.ActionForget || in.view.Order.Action == "")
}

// change replaces the view and publishes its status if that is new. The status of a failed container waits until the node has stored
// the container's last lines.
func (a *Agent) change(ctx context.Context, in *instance, after node.View) {
	before := in.view
	in.view = after
	a.meters.restarted(ctx, before, after)
	news := after.Phase != before.Phase || after.Attempt != before.Attempt || after.Reason != before.Reason ||
		after.NoRestart() != before.NoRestart() ||
		(after.Order.Action != before.Order.Action && after.Phase == events.PhaseRemoved) ||
		(after.Confirmed != nil && after.Confirmed != before.Confirmed)
	c, failing := after.Failing()
	switch {
	case !news:
	case in.keeping:
		in.told = append(in.told, after)
	case failing:
		in.told = append(in.told, after)
		a.keepOutput(ctx, in, c)
	default:
		a.publisher.put(after)
	}
}

// ordered applies the order to the instance. An order to stop interrupts a step that brings the instance up.
func (a *Agent) ordered(ctx context.Context, in *instance, o events.Order) {
	after := in.view.Ordered(o, time.Now())
	after.Heard = a.hearing.heard
	if o.Window > 0 && o.Epoch < a.hearing.machine {
		after = after.Inherited(a.hearing.joined)
	}
	a.change(ctx, in, after)
	if after.Exclusive() {
		a.beatSooner()
	}
	if in.busy && o.Action == events.ActionStop && (in.step == node.StepPrepare || in.step == node.StepStart) {
		in.interrupt()
	}
	if in.busy && o.Action == events.ActionRun && in.step == node.StepBeforeStop {
		in.interrupt()
	}
	a.settle(ctx, in)
}

// forget drops an instance that is over. It keeps the instance while a question to the engine or to the instance is under way: the
// answer may be from before its end, and the node would take it for an unknown container.
func (a *Agent) forget(in *instance) {
	if in.over() && !in.inspecting && in.checking == nil && !in.informing.underWay() && !in.measuring && !in.keeping && !a.looks.underWay {
		delete(a.instances, in.view.Instance)
	}
}
