package runner

import (
	"context"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

// hearing records which heartbeats the leader answered, which bounds how long the node's exclusive instances run.
type hearing struct {
	// answered is when the node sent its last answered heartbeat, and orders is the count of orders in that answer.
	answered time.Time
	orders   uint64
	// joined is when the node learned that the log knows this process as the node. machine is the node epoch since which its machine
	// is the node.
	joined  time.Time
	machine uint64
	// heard is the last answered for which the node knew all orders and the host guarded the exclusive instances.
	heard time.Time
	// guarding says that a call to guard them is under way, again that another must follow.
	guarding bool
	again    bool
}

// becomes records that the log knows this process as the node.
func (a *Agent) becomes(answer events.HeartbeatAnswer) {
	a.hearing.joined, a.hearing.machine = time.Now(), answer.Machine
}

// heardAt records that the leader answered the heartbeat that the node sent at this time.
func (a *Agent) heardAt(sent time.Time, orders uint64) {
	a.hearing.answered, a.hearing.orders = sent, orders
}

// beatsInWindow is how many heartbeats at least the node sends within the window of an exclusive instance. So one lost heartbeat does
// not end the instance.
const beatsInWindow = 5

// beatEvery is how often the node sends a heartbeat.
func (a *Agent) beatEvery() time.Duration {
	every := a.Heartbeat
	for _, in := range a.instances {
		if in.view.Exclusive() {
			every = min(every, time.Duration(in.view.Order.Window)/beatsInWindow)
		}
	}
	return every
}

// beatSooner brings the next heartbeat forward if the instance of a new order needs it sooner.
func (a *Agent) beatSooner() {
	next := time.Now().Add(a.beatEvery())
	if due := a.alarms[alarmBeat]; !due.IsZero() && next.Before(due) {
		a.alarms[alarmBeat] = next
	}
}

// renew extends the time of exclusive instances from the last answered heartbeat. First the node must know all orders that the answer
// counts, because one of them may say that an instance has been replaced. The host must know the new time before the instances do,
// because the host kills them when the time is over.
func (a *Agent) renew(ctx context.Context) {
	h := &a.hearing
	if !a.began || a.reading.underWay || a.reading.again || a.reading.stale || a.counter < h.orders || !h.answered.After(h.heard) {
		return
	}
	var guarded []node.Guarded
	for _, in := range a.inOrder() {
		if g, exclusive := in.view.Guarded(); exclusive {
			guarded = append(guarded, g)
		}
	}
	if len(guarded) == 0 {
		a.renewed(ctx, h.answered)
		return
	}
	if h.again = h.guarding; h.again {
		return
	}
	h.guarding = true
	heard := h.answered
	call, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	a.beside(ctx, func() func() {
		defer cancel()
		err := a.Engine.Guard(call, heard, guarded)
		return func() { a.guarded(ctx, heard, err) }
	})
}

// guarded follows the end of a call that makes the host guard exclusive instances. If it failed, the node tries again with the next
// heartbeat. If none succeeds, the instances stop in time.
func (a *Agent) guarded(ctx context.Context, heard time.Time, err error) {
	a.hearing.guarding = false
	if err == nil {
		a.renewed(ctx, heard)
	} else {
		a.Log.Warn("the host cannot guard exclusive instances; the node tries again with the next heartbeat", "error", err)
	}
	if a.hearing.again {
		a.renew(ctx)
	}
}

// renewed sets the time of the last answered heartbeat for every exclusive instance.
func (a *Agent) renewed(ctx context.Context, heard time.Time) {
	a.hearing.heard = heard
	for _, in := range a.inOrder() {
		if in.view.Order.Window > 0 {
			in.view.Heard = heard
			a.settle(ctx, in)
		}
	}
}
