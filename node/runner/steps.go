package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// Deadlines of the engine's calls.
const (
	prepareTimeout = 10 * time.Minute // an image may have to be pulled
	startTimeout   = 30 * time.Second
	stopTimeout    = 15 * time.Second // beyond the grace
	removeTimeout  = 30 * time.Second
)

// places bound how many steps of a kind may be under way at once. Instances wait in line for a free one.
type places struct {
	free int
	line []*instance
}

// enter takes a place for the instance. It reports false if no place is free: then the instance waits in line.
func (p *places) enter(in *instance) bool {
	if p.free > 0 {
		p.free--
		return true
	}
	p.line, in.line = append(p.line, in), p
	return false
}

// leaveLine takes the instance out of the line that it waits in, if any.
func (in *instance) leaveLine() {
	if p := in.line; p != nil {
		p.line = slices.DeleteFunc(p.line, func(other *instance) bool { return other == in })
		in.line = nil
	}
}

// placesOf returns the places of which the step needs one; nil for none. A stop needs none, as it mostly waits for the instance itself.
func (a *Agent) placesOf(step node.Step) *places {
	switch step {
	case node.StepPrepare:
		return &a.making
	case node.StepStart, node.StepRemove:
		return &a.moving
	case node.StepBeforeStop, node.StepStop, node.StepNone, node.StepWait, node.StepCheck, node.StepServe:
	}
	return nil
}

// settle takes the instance's next step, or makes the instance wait for a time or a place. It does nothing while a step is under way,
// and it takes no step if the order is met.
func (a *Agent) settle(ctx context.Context, in *instance) {
	delete(a.waiting, in.view.Instance)
	a.inform(ctx, in)
	for !in.busy {
		step, until := in.view.Next(time.Now())
		if step == node.StepRemove && in.keeping {
			return // the end of keepOutput continues
		}
		if a.answering.Holds(step) {
			in.leaveLine()
			return // the next listing that the engine answers continues
		}
		p := a.placesOf(step)
		if in.line != nil && in.line == p {
			return
		}
		in.leaveLine()
		switch step {
		case node.StepNone:
			a.forget(in)
			return
		case node.StepWait:
			a.await(in, until)
			return
		case node.StepCheck:
			a.check(ctx, in)
			return
		case node.StepServe:
			if in.inspecting {
				return // the answer may say that it has ended, and then it has never served
			}
			a.change(ctx, in, in.view.Done(step, time.Now()))
			a.inform(ctx, in)
		case node.StepPrepare, node.StepStart, node.StepBeforeStop, node.StepStop, node.StepRemove:
			if p == nil || p.enter(in) {
				a.take(ctx, in, step)
			}
			return
		}
	}
}

// stepNames are the names of the engine's steps in traces.
var stepNames = map[node.Step]string{
	node.StepPrepare: "prepare", node.StepStart: "start", node.StepBeforeStop: "before stop", node.StepStop: "stop", node.StepRemove: "remove",
}

// take makes the engine take the step, beside the loop.
func (a *Agent) take(ctx context.Context, in *instance, step node.Step) {
	if in.checking != nil {
		in.checking()
	}
	in.informing.end()
	view := in.view
	takes := a.call(step, view)
	call, cancel := context.WithTimeout(ctx, deadline(step, view))
	call, end := a.traced(call, in.traceParent, stepNames[step], view.Instance)
	in.busy, in.step, in.interrupt = true, step, cancel
	a.beside(ctx, func() func() {
		defer cancel()
		made, err := takes(call)
		end(err)
		failed := err != nil && !errors.Is(call.Err(), context.Canceled)
		return func() {
			if failed {
				a.Log.WarnContext(call, "a step failed", "instance", view.Instance.String(), "error", err)
			}
			a.taken(ctx, in, made, err)
		}
	})
}

// taken follows the end of a step. The instances in line get the free place before the instance continues.
func (a *Agent) taken(ctx context.Context, in *instance, made node.Container, err error) {
	in.busy, in.interrupt, in.ended = false, nil, a.turn
	now := time.Now()
	switch {
	case err != nil:
		a.change(ctx, in, in.view.Failed(in.step, err, now))
	case in.step == node.StepPrepare:
		in.disk = nil
		a.change(ctx, in, in.view.Prepared(made, now))
	default:
		a.change(ctx, in, in.view.Done(in.step, now))
	}
	if p := a.placesOf(in.step); p != nil {
		p.free++
		a.admit(ctx, p)
	}
	if in.hinted {
		a.inspect(ctx, in)
	}
	a.settle(ctx, in)
}

// admit gives the free places to the instances in line, first come first served. The next step of an instance may have changed while
// it waited.
func (a *Agent) admit(ctx context.Context, p *places) {
	for p.free > 0 && len(p.line) > 0 {
		in := p.line[0]
		p.line, in.line = p.line[1:], nil
		a.settle(ctx, in)
	}
}

func deadline(step node.Step, v node.View) time.Duration {
	switch step {
	case node.StepPrepare:
		return prepareTimeout + fillTimeout(v.Order.Restore)
	case node.StepStart:
		return startTimeout
	case node.StepBeforeStop:
		return v.AskWithin()
	case node.StepStop:
		return v.StopGrace() + stopTimeout
	case node.StepRemove, node.StepNone, node.StepWait, node.StepCheck, node.StepServe:
	}
	return removeTimeout
}

// fillTimeout is how long the node may take to fill volumes. Volumes of some GiB take longer than an image.
func fillTimeout(r *events.Restore) time.Duration {
	const bytesPerSecond, longest = 1 << 20, 2 * time.Hour
	if r == nil {
		return 0
	}
	var bytes int64
	for _, e := range r.Volumes {
		bytes += min(max(e.Size, 0), int64(longest/time.Second)*bytesPerSecond)
	}
	return min(time.Duration(bytes/bytesPerSecond)*time.Second, longest)
}

// call returns the function that takes the step.
func (a *Agent) call(step node.Step, v node.View) func(context.Context) (node.Container, error) {
	if step == node.StepPrepare {
		read := a.configs(v)
		return func(ctx context.Context) (node.Container, error) { return a.prepare(ctx, v, read) }
	}
	return func(ctx context.Context) (node.Container, error) {
		switch step {
		case node.StepStart:
			return node.Container{}, a.start(ctx, v)
		case node.StepBeforeStop:
			return node.Container{}, a.askBeforeStop(ctx, v)
		case node.StepStop:
			return node.Container{}, a.Engine.Stop(ctx, *v.Container, v.StopGrace())
		case node.StepRemove:
			return node.Container{}, a.remove(ctx, v)
		case node.StepPrepare, node.StepNone, node.StepWait, node.StepCheck, node.StepServe:
		}
		return node.Container{}, nil
	}
}

// start starts the instance's container. If the instance is exclusive, the host must guard it first.
func (a *Agent) start(ctx context.Context, v node.View) error {
	if v.Exclusive() {
		g := node.Guarded{Container: *v.Container, Window: time.Duration(v.Order.Window)}
		if err := a.Engine.Guard(ctx, v.Heard, []node.Guarded{g}); err != nil {
			return err
		}
	}
	return a.Engine.Start(ctx, *v.Container)
}

// askBeforeStop runs the container's hook before a stop.
func (a *Agent) askBeforeStop(ctx context.Context, v node.View) error {
	err := a.Engine.Ask(ctx, *v.Container, *v.Container.BeforeStop.Hook, events.Stopping{Phase: events.BeforeStop}, a.Facts.Address)
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("its before_stop hook gave no answer within %s", v.AskWithin())
	}
	return fmt.Errorf("its before_stop hook: %w", err)
}

func (a *Agent) prepare(ctx context.Context, v node.View, read configReader) (node.Container, error) {
	configs, err := read(ctx)
	if err != nil {
		return node.Container{}, err
	}
	return a.Engine.Prepare(ctx, node.Plan{
		Owner: a.owner, Instance: v.Instance, Attempt: v.NextAttempt(), Order: v.Order, Role: v.NextRole(), Address: a.Facts.Address,
		Allow: a.Allow, Content: a.content(v.Instance), Images: v.PlanImages(), Configs: configs, Topology: v.Document(),
	})
}

// remove removes the instance's container. If the node knows none, it asks the engine first: a call that failed or was interrupted may
// have created one.
func (a *Agent) remove(ctx context.Context, v node.View) error {
	c := v.Container
	if c == nil {
		var err error
		if c, err = a.Engine.Inspect(ctx, a.owner, v.Instance); c == nil || err != nil {
			return err
		}
	}
	return a.Engine.Remove(ctx, *c)
}
