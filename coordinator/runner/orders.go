package runner

import (
	"context"
	"fmt"
	"strconv"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// forgetAfter is how long the order of a removed instance stays as a mark that it is gone.
const forgetAfter = "1h"

// headerTTL is the header with which a message says how long it is kept.
const headerTTL = "Nats-TTL"

// headerLeader is the header with which an order names the leader that has written it and its epoch: the next one may repair an order with
// the same body.
const headerLeader = "Rookery-Leader"

// takeOrders writes the leader's mark, which fences earlier leaders, and begins to compare the orders that stand with the state.
func (l *leader) takeOrders() error {
	err := l.patiently(l.ctx, func(ctx context.Context) error {
		state, err := l.Bus.State(ctx, bus.Orders)
		l.orders = state.Last
		return err
	})
	if err != nil || !l.cluster.Founded() {
		return err
	}
	err = l.patiently(l.ctx, func(ctx context.Context) error { return checkOrdersMark(ctx, l.Bus, l.cluster, l.epoch) })
	if err != nil {
		return err
	}
	if err := l.putOrders(nil); err != nil {
		return err
	}
	return l.compareOrders()
}

// orderMessage encodes the order and renders its templates. The trace parent is that of the command that caused it, or "".
func (l *leader) orderMessage(subject string, o events.Order, traceParent string) (events.Message, error) {
	if _, id, ok := events.ParseOrderSubject(subject); ok {
		o = l.cluster.Rendered(id, o)
	}
	m, err := events.Encode(subject, o, events.Attributes{
		ID:     subject + "/" + strconv.FormatUint(o.Decided, 10) + "/" + string(o.Action),
		Source: "/rookery/" + l.cluster.LogID(), Time: l.cluster.Now, Cause: events.Cause{TraceParent: traceParent}, Program: l.Program,
	})
	if err != nil {
		return m, err
	}
	m.Header[headerLeader] = []string{strconv.FormatUint(l.epoch, 10) + "/" + l.Name}
	if o.Action == events.ActionForget {
		m.Header[headerTTL] = []string{forgetAfter}
	}
	return m, nil
}

// ordersOf returns the orders that these records changed, in the order in which they were decided.
func (l *leader) ordersOf(records []events.Record) ([]events.Message, error) {
	changed := newChangedOrders()
	for _, r := range records {
		changed.traceParent = r.Cause.TraceParent
		l.noteOrder(changed, r)
	}
	messages := make([]events.Message, 0, len(changed.subjects))
	for _, subject := range changed.subjects {
		m, err := l.orderMessage(subject, changed.orders[subject], changed.traceParents[subject])
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// changedOrders keeps the last order of each subject, in the order of the first change.
type changedOrders struct {
	subjects []string
	orders   map[string]events.Order
	// traceParents are those of the events that changed them last, and traceParent that of the event at hand.
	traceParents map[string]string
	traceParent  string
}

func newChangedOrders() *changedOrders {
	return &changedOrders{orders: map[string]events.Order{}, traceParents: map[string]string{}}
}

func (c *changedOrders) put(subject string, o events.Order) {
	if _, known := c.orders[subject]; !known {
		c.subjects = append(c.subjects, subject)
	}
	c.orders[subject], c.traceParents[subject] = o, c.traceParent
}

func (l *leader) noteOrder(changed *changedOrders, r events.Record) {
	service, _ := r.Scope.Service()
	node, _ := r.Scope.Node()
	forget := l.cluster.ForgetOrder(r.Sequence)
	instance := func(ordinal, generation uint32) {
		id := events.InstanceID{Service: service, Ordinal: ordinal, Generation: generation}
		if i := l.cluster.Instance(id); i != nil {
			changed.put(events.OrderSubject(i.Node, id), l.cluster.Order(i))
		}
	}
	switch d := r.Data.(type) {
	case events.InstancePlaced:
		instance(d.Ordinal, d.Generation)
	case events.InstanceAdopted:
		instance(d.Ordinal, d.Generation)
	case events.InstanceRetired:
		instance(d.Ordinal, d.Generation)
	case events.TopologyChanged, events.OperationEntered, events.OperationEnded:
		for _, i := range l.cluster.OrderedBy(service, r.Sequence) {
			changed.put(events.OrderSubject(i.Node, i.ID), l.cluster.Order(i))
		}
	case events.InstanceForgotten:
		id := events.InstanceID{Service: service, Ordinal: d.Ordinal, Generation: d.Generation}
		changed.put(events.OrderSubject(d.Node, id), forget)
	case events.InstanceRemoved:
		id := events.InstanceID{Service: service, Ordinal: d.Ordinal, Generation: d.Generation}
		changed.put(events.OrderSubject(d.Node, id), forget)
	case events.StrayFound:
		if n := l.cluster.Nodes[node]; n != nil && n.Orphans[d.ID()] != nil {
			changed.put(events.OrderSubject(node, d.ID()), l.cluster.OrphanOrder(n.Orphans[d.ID()]))
		}
	case events.StrayForgotten:
		changed.put(events.OrderSubject(node, d.ID()), forget)
	case events.StrayRemoved:
		changed.put(events.OrderSubject(node, d.ID()), forget)
	}
}

// markID is the id of the mark of an epoch that follows this sequence in ROOKERY_ORDERS. No event of the log has the same id.
func markID(epoch, after uint64) string {
	return fmt.Sprintf("%s/%d/%d", events.OrdersEpochSubject, epoch, after)
}

// maxBatchBytes bounds the bodies of one batch of orders.
const maxBatchBytes = 4 << 20

// fewOrders is how many messages are stored faster one by one than as a batch, which has a cost of its own.
const fewOrders = 4

// putOrders stores the orders behind the leader's mark, in as few batches as the server takes, or one by one if they are few. Each write is
// fenced. If the leader loses the lead in between, the next leader stores the rest. A refused write means that another leader has followed.
func (l *leader) putOrders(orders []events.Message) error {
	mark, err := events.Encode(events.OrdersEpochSubject, events.OrdersEpoch{
		Log: l.cluster.LogID(), Epoch: l.epoch, Leader: l.Name, Closed: l.cluster.Sequence, Chain: l.cluster.Chain,
	}, events.Attributes{
		ID: markID(l.epoch, l.orders), Source: "/rookery/" + l.cluster.LogID(), Time: l.cluster.Now,
	})
	if err != nil {
		return err
	}
	size := bus.MaxBatch
	if len(orders) < fewOrders {
		size = 1
	}
	batch, bytes := []events.Message{mark}, len(mark.Body)
	for _, m := range orders {
		if len(batch) == size || bytes+len(m.Body) > maxBatchBytes {
			if err := l.putBatch(batch); err != nil {
				return err
			}
			batch, bytes = nil, 0
		}
		batch, bytes = append(batch, m), bytes+len(m.Body)
	}
	return l.putBatch(batch)
}

func (l *leader) putBatch(batch []events.Message) error {
	last, err := l.append(bus.Orders, l.orders, batch)
	if err != nil {
		return err
	}
	l.orders = last
	return nil
}
