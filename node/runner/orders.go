package runner

import (
	"context"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// heard is an order as it came.
type heard struct {
	id       events.InstanceID
	order    events.Order
	sequence uint64
	// traceParent is that of the command which it is due to; "" for none.
	traceParent string
}

// reading is the reading of all orders of the node: one at a time, and one more where that was asked for meanwhile.
// Live orders that come before its end are kept until then.
type reading struct {
	underWay bool
	again    bool
	stale    bool    // what was read is that of a leader before
	before   []heard // came before it began: what stands in the stream covers them
	since    []heard
	// reaches is the counter that the leader had told when it began, told what it has told since.
	reaches uint64
	told    uint64
}

// order takes one live order.
func (a *Agent) order(ctx context.Context, m events.Message) {
	if o, ok := a.parse(m); ok {
		a.hear(ctx, o)
	}
}

// parse reads an order. Those of another log are not for this node's containers.
func (a *Agent) parse(m events.Message) (heard, bool) {
	_, id, order, err := events.ParseOrder(m)
	if err != nil {
		a.Log.Error("ignored an order", "error", err)
		return heard{}, false
	}
	if order.Log != a.owner.Cluster {
		a.Log.Error("ignored an order of another cluster", "instance", id.String(), "log", order.Log)
		return heard{}, false
	}
	return heard{id, order, m.Sequence, events.TraceParentOf(m)}, true
}

// hear takes a live order. One that does not follow the last has others before it that were missed, or is of another stream than
// the last: late, or the first of one that was made anew.
func (a *Agent) hear(ctx context.Context, o heard) {
	switch {
	case !a.began || a.reading.underWay:
		a.reading.since = append(a.reading.since, o)
	case a.missed(o) || o.order.Stream != a.stream:
		a.reading.since = append(a.reading.since, o)
		a.catchUp(ctx)
	default:
		a.apply(ctx, o)
	}
}

// missed reports whether there were others before this order.
func (a *Agent) missed(o heard) bool { return o.order.Counter > a.counter+1 }

// apply puts the instance under the order, unless it is under a later one. Of an instance that is not known, an order
// from before the last reading is over: what was read has replaced it, or has forgotten the instance.
func (a *Agent) apply(ctx context.Context, o heard) {
	a.counter = max(a.counter, o.order.Counter)
	if a.instances[o.id] == nil && (o.order.Action == events.ActionForget || o.sequence <= a.readTo) {
		return
	}
	if in := a.instance(o.id); o.sequence >= in.sequence {
		in.sequence, in.traceParent = o.sequence, o.traceParent
		a.ordered(ctx, in, o.order)
	}
}

// catchUp reads all orders of the node. What has no order there keeps running: absence never stops a container.
func (a *Agent) catchUp(ctx context.Context) {
	r := &a.reading
	if r.underWay {
		r.again = true
		return
	}
	*r = reading{underWay: true, stale: r.stale, before: append(r.before, r.since...), reaches: r.told}
	call, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	a.beside(ctx, func() func() {
		defer cancel()
		messages, err := a.Bus.Latest(call, bus.Orders, events.NodeOrders(events.OrdersRoot, a.Name))
		return func() {
			a.reading.underWay = false
			if err != nil {
				a.notRead(ctx, err)
				return
			}
			a.read(ctx, messages)
		}
	})
}

// read takes all orders that stand. The stream may have been made anew: counter and sequences begin again. Those that
// came live are taken after them, unless they are of another stream, and any that was missed meanwhile has everything read again.
func (a *Agent) read(ctx context.Context, messages []events.Message) {
	r := a.reading
	a.reading = reading{again: r.again, told: r.told}
	a.counter, a.readTo, a.stream = 0, 0, ""
	for _, in := range a.instances {
		in.sequence = 0
	}
	readTo := uint64(0)
	for _, m := range messages {
		if o, ok := a.parse(m); ok {
			a.apply(ctx, o)
			readTo, a.stream = max(readTo, o.sequence), o.order.Stream
		}
	}
	a.readTo = readTo
	for _, o := range r.before {
		if a.stream == "" || o.order.Stream == a.stream {
			a.apply(ctx, o)
		}
	}
	a.counter = max(a.counter, r.reaches) // those of instances that are gone stand in the stream no more
	if !a.began {
		a.begun(ctx)
	}
	for _, o := range r.since {
		a.hear(ctx, o)
	}
	a.readAgain(ctx)
}

// notRead follows a failed reading. Live orders that follow the last are good nevertheless; before the others there
// are some that were missed, which the next heartbeat shows.
func (a *Agent) notRead(ctx context.Context, err error) {
	if !a.began {
		a.cannotBegin(err)
		return
	}
	a.Log.Warn("cannot catch up with orders", "error", err)
	r := a.reading
	a.reading = reading{again: r.again, stale: r.stale, told: r.told}
	for _, o := range append(r.before, r.since...) {
		if !a.missed(o) && o.order.Stream == a.stream {
			a.apply(ctx, o)
		}
	}
	if a.reading.again {
		a.catchUp(ctx)
	}
}

// readAgain reads once more where that was asked for, and else has the list published that waited for the orders.
func (a *Agent) readAgain(ctx context.Context) {
	switch {
	case a.reading.underWay:
	case a.reading.again:
		a.catchUp(ctx)
	case a.relist:
		a.relist = false
		a.publisher.relist()
	}
	a.renew(ctx)
}
