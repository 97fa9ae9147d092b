package runner

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

const (
	// maxQueued is how many statuses wait for a bus that is away; beyond it one full list stands for them all.
	maxQueued = 4096
	// publishAgain is how long the publisher rests after a failure.
	publishAgain = 200 * time.Millisecond
)

// publisher is what is to be published, in order, one at a time. A bus that is away delays it and loses nothing that
// still matters.
type publisher struct {
	queue []node.View
	// wanted counts the requests for the full list, the first of those not met was at asked; listed is what it was when the
	// last list was made.
	wanted, listed uint64
	asked          time.Time
	underWay       bool
	engine         bool // how the engine is, is to be said
	counter        uint64
}

// status is one message to the leader.
type status struct {
	subject string
	counter uint64
	data    events.Data
	// traceParent is that of the command which it is due to, and about what it says something; "" and nothing where that is not one.
	traceParent string
	about       events.InstanceID
}

// put has published what the view says.
func (p *publisher) put(v node.View) {
	if len(p.queue) >= maxQueued {
		p.queue = nil
		p.relist()
	}
	p.queue = append(p.queue, v)
}

// relist has the full list published.
func (p *publisher) relist() {
	if p.wanted == p.listed {
		p.asked = time.Now()
	}
	p.wanted++
}

// publishNext publishes what waits, unless a call is under way or the last one has failed just now.
func (a *Agent) publishNext(ctx context.Context) {
	p := &a.publisher
	switch {
	case p.underWay || !a.alarms[alarmPublish].IsZero():
	case p.engine:
		a.publishEngine(ctx)
	case len(p.queue) > 0:
		a.publishStatus(ctx)
	case p.wanted == p.listed:
	case a.keeping > 0 && time.Since(p.asked) < outputTimeout:
		// the list would tell of the failures first, and without what explains them
	default:
		a.publishList(ctx)
	}
}

func (a *Agent) publishStatus(ctx context.Context) {
	p := &a.publisher
	next := p.queue[0]
	p.queue = p.queue[1:]
	p.counter++
	state := next.State(a.epoch)
	state.Ports = nil
	s := status{
		subject: events.InstanceStatusSubject(a.Name, next.Instance), counter: p.counter,
		data: events.InstanceStatus{Counter: p.counter, InstanceState: state}, about: next.Instance,
	}
	in, order := a.instances[next.Instance], uint64(0)
	if in != nil {
		s.traceParent, order = in.traceParent, in.sequence
	}
	a.publish(ctx, []status{s}, func(err error) {
		switch {
		case err != nil:
			p.queue = slices.Insert(p.queue, 0, next)
		case in != nil && in.sequence == order && in.view.Phase == next.Phase && attained(in.view):
			in.traceParent = ""
		}
	})
}

// attained reports whether the instance has come to what its order asks for, or to its first end on the way. What it does from there on
// nobody asked for: it is no part of a command's trace any more.
func attained(v node.View) bool {
	if v.Order.Action == events.ActionRun {
		return v.Phase >= events.PhaseOnline
	}
	return v.Phase == events.PhaseRemoved
}

func (a *Agent) publishList(ctx context.Context) {
	p := &a.publisher
	var parts []status
	for instances := a.list(); ; {
		n := min(len(instances), events.MaxListed)
		p.counter++
		list := events.InstanceList{Counter: p.counter, Epoch: a.epoch, Instances: instances[:n], Last: n == len(instances)}
		parts = append(parts, status{subject: events.ListSubject(a.Name), counter: p.counter, data: list})
		if list.Last {
			break
		}
		instances = instances[n:]
	}
	wanted := p.wanted
	a.publish(ctx, parts, func(err error) {
		if err == nil {
			p.listed = wanted
		}
	})
}

// publish publishes the statuses one after the other, as far as that goes well.
func (a *Agent) publish(ctx context.Context, all []status, then func(error)) {
	a.publisher.underWay = true
	a.beside(ctx, func() func() {
		err := a.send(ctx, all)
		return func() {
			a.publisher.underWay = false
			if err != nil {
				a.Log.Debug("cannot publish a status yet", "error", err)
				a.alarms[alarmPublish] = time.Now().Add(publishAgain)
			}
			then(err)
		}
	})
}

func (a *Agent) send(ctx context.Context, all []status) error {
	for _, s := range all {
		attributes := a.attributes(strconv.FormatUint(s.counter, 10))
		attributes.Cause.TraceParent = s.traceParent
		m, err := events.Encode(s.subject, s.data, attributes)
		if err != nil {
			return err
		}
		within, end := a.traced(ctx, s.traceParent, "status", s.about)
		err = a.store(within, m)
		end(err)
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *Agent) store(ctx context.Context, m events.Message) error {
	call, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	_, err := a.Bus.Publish(call, m)
	return err
}

// list returns every instance that the node has, or has something to say of, in order.
func (a *Agent) list() []events.InstanceState {
	states := make([]events.InstanceState, 0, len(a.instances))
	for _, in := range a.instances {
		if in.view.Phase != events.PhasePlaced && !in.over() {
			states = append(states, in.view.State(a.epoch))
		}
	}
	slices.SortFunc(states, func(a, b events.InstanceState) int { return a.ID().Compare(b.ID()) })
	return states
}
