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
	// maxQueued is how many statuses wait while the bus is unreachable; beyond it, one full list replaces them all.
	maxQueued = 4096
	// publishAgain is how long the publisher waits after a failure.
	publishAgain = 200 * time.Millisecond
)

// publisher is the queue of statuses, which the node publishes in order, one at a time. If the bus is unreachable, they are delayed, and
// nothing that still matters is lost.
type publisher struct {
	queue []node.View
	// wanted counts the requests for the full list. listed is the value of wanted when the last list was made. asked is the time of the
	// first request since.
	wanted, listed uint64
	asked          time.Time
	underWay       bool
	engine         bool // the status of the engine is to be published
	counter        uint64
}

// status is one message to the leader.
type status struct {
	subject string
	counter uint64
	data    events.Data
	// traceParent is that of the command that caused the status, "" for none. about is the instance of the status; zero for none.
	traceParent string
	about       events.InstanceID
}

// put queues the view's status.
func (p *publisher) put(v node.View) {
	if len(p.queue) >= maxQueued {
		p.queue = nil
		p.relist()
	}
	p.queue = append(p.queue, v)
}

// relist requests the full list.
func (p *publisher) relist() {
	if p.wanted == p.listed {
		p.asked = time.Now()
	}
	p.wanted++
}

// publishNext publishes what waits, unless a call is under way or the last one has failed within publishAgain.
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
		// the list would report the failures first, without the lines that explain them
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

// attained reports whether the instance has reached what its order asks for, or has ended on the way there. From then on the command
// did not cause what the instance does, so that is not part of the command's trace.
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

// publish publishes the statuses one after the other, until one fails.
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

// list returns every instance that the node has or must report, in order.
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
