package runner

import (
	"context"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// order takes one live order. One that does not follow the last has others before it that were missed.
func (a *Agent) order(ctx context.Context, m events.Message) {
	_, id, order, err := events.ParseOrder(m)
	if err != nil {
		a.Log.Error("ignored an order", "error", err)
		return
	}
	a.reading.Lock()
	defer a.reading.Unlock()
	a.mu.Lock()
	missed := order.Counter > a.counter+1
	a.mu.Unlock()
	if missed {
		if err := a.readOrders(ctx); err != nil && ctx.Err() == nil {
			a.Log.Warn("cannot catch up with orders", "error", err)
		}
		return
	}
	a.apply(ctx, id, order, m.Sequence)
}

// apply hands an order to its worker. Orders of another log are not for this node's containers.
func (a *Agent) apply(ctx context.Context, id events.InstanceID, order events.Order, sequence uint64) {
	if order.Log != a.owner.Cluster {
		a.Log.Error("ignored an order of another cluster", "instance", id.String(), "log", order.Log)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counter = max(a.counter, order.Counter)
	if a.workers[id] == nil && order.Action == events.ActionForget {
		return
	}
	a.tell(ctx, id, func(m *mail) {
		if sequence >= m.sequence {
			m.order, m.sequence = &order, sequence
		}
	})
}

// catchUp reads all orders of the node. What has no order there keeps running: absence never stops a container.
func (a *Agent) catchUp(ctx context.Context) error {
	a.reading.Lock()
	defer a.reading.Unlock()
	return a.readOrders(ctx)
}

func (a *Agent) readOrders(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	messages, err := a.Bus.Latest(call, bus.Orders, events.NodeOrders(events.OrdersRoot, a.Name))
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.counter = 0
	for _, w := range a.workers {
		w.forgetSequence()
	}
	a.mu.Unlock()
	for _, m := range messages {
		_, id, order, err := events.ParseOrder(m)
		if err != nil {
			a.Log.Error("ignored an order", "error", err)
			continue
		}
		a.apply(ctx, id, order, m.Sequence)
	}
	return nil
}
