package runner

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// instance is what the node keeps of one instance.
type instance struct {
	view     node.View
	sequence uint64 // of the latest order, in ROOKERY_ORDERS
	// traceParent is that of the command which the order is due to; "" for none.
	traceParent string
	line        *places // where it waits for a place, nil for nowhere
	// busy says that a step is under way in the engine, which one is step, and interrupt ends it; ended is the turn in
	// which the last one ended.
	busy      bool
	step      node.Step
	interrupt context.CancelFunc
	ended     uint64
	// checking ends the health check that is under way; nil for none.
	checking  context.CancelFunc
	informing informing
	// measuring says that its disk is being measured, measureAt when that is due again.
	measuring bool
	measureAt time.Time
	// disk is what it was last found to take of the disk, in bytes; nil where that was not measured.
	disk *uint64
	// inspecting says that the engine is being asked about it, hinted that it is to be asked again.
	inspecting bool
	hinted     bool
	// keeping says that what its container printed last is being kept, told what it is to say after that.
	keeping bool
	told    []node.View
}

// instance returns what the node keeps of the instance, which may be new.
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

// over reports whether nothing of the instance is left and nobody expects anything of it.
func (in *instance) over() bool {
	return in.view.Container == nil && (in.view.Order.Action == events.ActionForget || in.view.Order.Action == "")
}

// change replaces the view and has published what it says, if that is new. What says of a container that it has failed
// waits until its last lines are kept.
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

// ordered puts the instance under the order. One to stop ends a step that brings the instance up.
func (a *Agent) ordered(ctx context.Context, in *instance, o events.Order) {
	after := in.view.Ordered(o)
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

// forget drops an instance that is over. While the engine or the instance is being asked it stays: what the answer says of it may be
// from before its end, and would be taken for a container that nobody knows.
func (a *Agent) forget(in *instance) {
	if in.over() && !in.inspecting && in.checking == nil && !in.informing.underWay() && !in.measuring && !in.keeping && !a.looks.underWay {
		delete(a.instances, in.view.Instance)
	}
}
