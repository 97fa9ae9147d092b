package runner

import (
	"context"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

// hearing is when the node was heard, which bounds how long its exclusive instances run.
type hearing struct {
	// answered is when the last heartbeat was sent that was answered, and orders the count of orders that the leader told then.
	answered time.Time
	orders   uint64
	// joined is when the log was heard to know this process as the node, and machine since which node epoch its machine is that.
	joined  time.Time
	machine uint64
	// heard is the last of these by which the node knew all orders, and the host guarded what is exclusive.
	heard time.Time
	// guarding says that the host is asked to, again that it is to be asked once more.
	guarding bool
	again    bool
}

// becomes notes that the log was heard to know this process as the node.
func (a *Agent) becomes(answer events.HeartbeatAnswer) {
	a.hearing.joined, a.hearing.machine = time.Now(), answer.Machine
}

// heardAt notes that a heartbeat was answered which was sent at a time.
func (a *Agent) heardAt(sent time.Time, orders uint64) {
	a.hearing.answered, a.hearing.orders = sent, orders
}

// beatsInWindow is how many heartbeats are sent in the window of an exclusive instance, at the least: one that goes astray ends none.
const beatsInWindow = 5

// beatEvery is how often a heartbeat is sent.
func (a *Agent) beatEvery() time.Duration {
	every := a.Heartbeat
	for _, in := range a.instances {
		if in.view.Exclusive() {
			every = min(every, time.Duration(in.view.Order.Window)/beatsInWindow)
		}
	}
	return every
}

// beatSooner has the next heartbeat be sent as soon as an instance needs it that has just been ordered.
func (a *Agent) beatSooner() {
	next := time.Now().Add(a.beatEvery())
	if due := a.alarms[alarmBeat]; !due.IsZero() && next.Before(due) {
		a.alarms[alarmBeat] = next
	}
}

// renew lets exclusive instances run on from the last heartbeat that was answered, once the node has the orders of that: one of them
// may be that an instance has been replaced. The host must know before the instances do, for it is what ends them in time.
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

// guarded follows the end of a call that has the host guard what is exclusive. Where it failed, the next heartbeat tries again, and
// the instances stop in time where none succeeds.
func (a *Agent) guarded(ctx context.Context, heard time.Time, err error) {
	a.hearing.guarding = false
	if err == nil {
		a.renewed(ctx, heard)
	} else {
		a.Log.Warn("exclusive instances are not guarded", "error", err)
	}
	if a.hearing.again {
		a.renew(ctx)
	}
}

// renewed has every exclusive instance go by the time.
func (a *Agent) renewed(ctx context.Context, heard time.Time) {
	a.hearing.heard = heard
	for _, in := range a.inOrder() {
		if in.view.Exclusive() {
			in.view.Heard = heard
			a.settle(ctx, in)
		}
	}
}
