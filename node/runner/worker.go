package runner

import (
	"context"
	"errors"
	"sync"
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
	inspectTimeout = 10 * time.Second
)

// mail is what others tell a worker. The latest of each counts.
type mail struct {
	order    *events.Order
	sequence uint64 // of the latest order, in ROOKERY_ORDERS
	found    *node.Container
	looked   time.Time // when the look that found it began; zero for none
	hinted   bool
}

func (m *mail) any() bool { return m.order != nil || !m.looked.IsZero() || m.hinted }

// worker takes the steps of one instance, one at a time.
type worker struct {
	agent *Agent
	id    events.InstanceID
	wake  chan struct{}

	mu        sync.Mutex
	mail      mail
	view      node.View
	interrupt context.CancelFunc // of the step under way
}

func newWorker(a *Agent, id events.InstanceID) *worker {
	return &worker{agent: a, id: id, wake: make(chan struct{}, 1), view: node.View{Instance: id}}
}

// tell changes the mail and wakes the worker. An order to stop ends a step that brings the instance up.
func (w *worker) tell(change func(*mail)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.mail)
	if o := w.mail.order; o != nil && o.Action == events.ActionStop && w.view.Order.Action == events.ActionRun && w.interrupt != nil {
		w.interrupt()
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// forgetSequence has the next order count whatever its place: the stream may have been made anew.
func (w *worker) forgetSequence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mail.sequence = 0
}

// state returns what the node says of the instance.
func (w *worker) state(epoch uint64) events.InstanceState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.view.State(epoch)
}

func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		hinted := w.read()
		if hinted {
			w.inspect(ctx)
			continue
		}
		step, until := w.next()
		switch step {
		case node.StepNone, node.StepWait:
			if step == node.StepNone && w.over() && w.agent.dismiss(w) {
				return
			}
			w.sleep(ctx, until)
		case node.StepServe:
			w.change(func(v node.View) node.View { return v.Done(step, time.Now()) })
		case node.StepPrepare, node.StepStart, node.StepStop, node.StepRemove:
			w.do(ctx, step)
		}
	}
}

func (w *worker) next() (node.Step, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.view.Next(time.Now())
}

// over reports whether nothing of the instance is left and nobody expects anything of it.
func (w *worker) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.view.Container == nil && (w.view.Order.Action == events.ActionForget || w.view.Order.Action == "")
}

// read takes the mail into the view. It reports whether the engine is to be asked about the instance.
func (w *worker) read() (hinted bool) {
	w.change(func(v node.View) node.View {
		m := &w.mail
		hinted, m.hinted = m.hinted, false
		if m.order != nil {
			v = v.Ordered(*m.order)
			m.order = nil
		}
		if !m.looked.IsZero() {
			v = v.Found(m.found, m.looked, time.Now())
			m.found, m.looked = nil, time.Time{}
		}
		return v
	})
	return hinted
}

// change replaces the view and publishes what it says, if that is new.
func (w *worker) change(f func(node.View) node.View) {
	w.mu.Lock()
	before := w.view
	w.view = f(w.view)
	after := w.view
	w.mu.Unlock()
	if after.Phase != before.Phase || after.Attempt != before.Attempt || after.Reason != before.Reason ||
		(after.Order.Action != before.Order.Action && after.Phase == events.PhaseRemoved) {
		w.agent.publisher.put(w.id, after)
	}
}

func (w *worker) sleep(ctx context.Context, until time.Time) {
	var timer <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-ctx.Done():
	case <-w.wake:
	case <-timer:
	}
}

func (w *worker) inspect(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	began := time.Now()
	found, err := w.agent.Engine.Inspect(call, w.agent.owner, w.id)
	if err != nil {
		return // the next look tells
	}
	w.change(func(v node.View) node.View { return v.Found(found, began, time.Now()) })
}

// do takes one step with the engine. It holds one of the node's places while it makes, starts or removes. What the
// mail says after the wait for a place comes first: the step may not be wanted any more.
func (w *worker) do(ctx context.Context, step node.Step) {
	leave, ok := w.enter(ctx, step)
	if !ok {
		return
	}
	defer leave()
	w.mu.Lock()
	if w.mail.any() {
		w.mu.Unlock()
		return
	}
	view := w.view
	call, cancel := context.WithTimeout(ctx, deadline(step, view))
	w.interrupt = cancel
	w.mu.Unlock()
	defer cancel()
	made, err := w.call(call, step, view)
	w.mu.Lock()
	w.interrupt = nil
	w.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if err != nil && !errors.Is(call.Err(), context.Canceled) {
		w.agent.Log.Warn("a step failed", "instance", w.id.String(), "error", err)
	}
	w.change(func(v node.View) node.View {
		switch {
		case err != nil:
			return v.Failed(step, err, time.Now())
		case step == node.StepPrepare:
			return v.Prepared(made, time.Now())
		}
		return v.Done(step, time.Now())
	})
}

// enter waits for a place for the step. It reports false where ctx ended before there was one.
func (w *worker) enter(ctx context.Context, step node.Step) (leave func(), ok bool) {
	places := w.agent.moving
	switch step {
	case node.StepPrepare:
		places = w.agent.making
	case node.StepStop, node.StepNone, node.StepWait, node.StepServe:
		return func() {}, true
	case node.StepStart, node.StepRemove:
	}
	select {
	case places <- struct{}{}:
		return func() { <-places }, true
	case <-ctx.Done():
		return nil, false
	}
}

func deadline(step node.Step, v node.View) time.Duration {
	switch step {
	case node.StepPrepare:
		return prepareTimeout
	case node.StepStart:
		return startTimeout
	case node.StepStop:
		return v.StopGrace() + stopTimeout
	case node.StepRemove, node.StepNone, node.StepWait, node.StepServe:
	}
	return removeTimeout
}

func (w *worker) call(ctx context.Context, step node.Step, v node.View) (node.Container, error) {
	engine := w.agent.Engine
	switch step {
	case node.StepPrepare:
		return engine.Prepare(ctx, node.Plan{
			Owner: w.agent.owner, Instance: w.id, Attempt: v.NextAttempt(), Order: v.Order, Address: w.agent.Facts.Address,
		})
	case node.StepStart:
		return node.Container{}, engine.Start(ctx, *v.Container)
	case node.StepStop:
		return node.Container{}, engine.Stop(ctx, *v.Container, v.StopGrace())
	case node.StepRemove:
		if v.Container != nil {
			return node.Container{}, engine.Remove(ctx, *v.Container)
		}
	case node.StepNone, node.StepWait, node.StepServe:
	}
	return node.Container{}, nil
}
