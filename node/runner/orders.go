package runner

import (
	"context"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// heard is an order as the node received it.
type heard struct {
	id       events.InstanceID
	order    events.Order
	sequence uint64
	// traceParent is that of the command that caused the order; "" for none.
	traceParent string
}

// reading is the reading of all orders of the node. There is one at a time, and another follows if one was requested meanwhile. Live
// orders that come during a reading wait for its end.
type reading struct {
	underWay bool
	again    bool
	stale    bool    // the orders that the node has read are those of an earlier leader
	before   []heard // came before it began: the orders in the stream cover them
	since    []heard
	// reaches is the counter that the leader had announced when the reading began, told what it has announced since.
	reaches uint64
	told    uint64
}

// order handles one live order.
func (a *Agent) order(ctx context.Context, m events.Message) {
	if o, ok := a.parse(m); ok {
		a.hear(ctx, o)
		a.renew(ctx)
	}
}

// parse reads an order. It ignores an order of another log, which is not for this node's containers.
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

// hear handles a live order. If the order does not follow the last one, the node has missed some, or the order is of another stream: it
// is late, or it is the first order of a new stream.
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

// missed reports whether the node has missed orders before this one.
func (a *Agent) missed(o heard) bool { return o.order.Counter > a.counter+1 }

// apply applies the order to its instance, unless that has a later order. If the node does not know the instance, it ignores an order
// from before the last reading: the orders that it read have replaced that one or have forgotten the instance.
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

// catchUp reads all orders of the node. An instance without an order keeps running: a missing order never stops a container.
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
		messages, err := a.Supply.Orders(call)
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

// read applies all orders in the stream. The stream may be a new one, whose counter and sequences begin again. Then read handles the
// live orders that came meanwhile, and ignores early ones of another stream. If the node has missed any, it reads all orders again.
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
	a.counter = max(a.counter, r.reaches) // the stream no longer has the orders of forgotten instances
	if !a.began {
		a.begun(ctx)
	}
	for _, o := range r.since {
		a.hear(ctx, o)
	}
	a.readAgain(ctx)
}

// notRead follows a failed reading. The node still applies live orders that follow the last one. It has missed some before the others,
// and the next heartbeat shows that.
func (a *Agent) notRead(ctx context.Context, err error) {
	if !a.began {
		a.cannotBegin(err)
		return
	}
	a.Log.Warn("cannot read missed orders; the node tries again after the next heartbeat", "error", err)
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

// readAgain reads all orders again if that was requested. Otherwise it publishes the full list, if one waited for the orders.
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
