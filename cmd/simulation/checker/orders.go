package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// ordersState is the state of the stream of orders.
type ordersState struct {
	// decided holds the latest decision of each subject. mark is the epoch of the last leader's mark, and followed how far that leader had
	// read the log.
	decided  map[string]uint64
	mark     uint64
	followed uint64
	// suspended says that the log is restored, but not adopted yet: orders on their way follow rounds of the earlier log.
	suspended bool
	// written counts the stored orders, without marks.
	written int
}

// ordered checks stored orders: each follows a closed round, and none replaces a later one.
func (c *Checker) ordered(messages []events.Message) {
	o := &c.orders
	if o.suspended {
		return
	}
	for _, m := range messages {
		if m.Subject == events.OrdersEpochSubject {
			c.marked(m)
			continue
		}
		node, id, order, err := events.ParseOrder(m)
		if err != nil {
			c.breach("orders", "an order does not read: %v", err)
			continue
		}
		o.written++
		c.must(order.Decided <= c.log.closed,
			"orders", "the order for %s was decided at %d, but the log is closed only up to %d", id, order.Decided, c.log.closed)
		if order.Action == events.ActionForget {
			continue
		}
		c.must(order.Decided >= o.decided[m.Subject],
			"orders", "an order for %s decided at %d replaces one decided at %d", id, order.Decided, o.decided[m.Subject])
		o.decided[m.Subject] = order.Decided
		if o.mark != c.log.epoch && c.log.closed > o.followed {
			continue // its leader does not know a round of another: the server refuses its own next round, and the next leader repairs the order
		}
		if order.Action == events.ActionStop {
			c.orderedToStop(node, id, order)
		} else {
			c.orderedToRun(node, id, order)
		}
	}
}

// marked checks a leader's mark: epochs climb, and orders follow rounds that are closed.
func (c *Checker) marked(m events.Message) {
	o := &c.orders
	mark, _, err := events.DecodeAs[events.OrdersEpoch](m)
	switch {
	case err != nil:
		c.breach("orders", "a leader's mark does not read: %v", err)
	case mark.Closed > c.log.closed:
		c.breach("orders", "orders follow the log up to %d, but it is closed only up to %d", mark.Closed, c.log.closed)
	case mark.Epoch < o.mark:
		c.breach("orders", "%s writes orders in epoch %d after those of epoch %d", mark.Leader, mark.Epoch, o.mark)
	}
	o.mark, o.followed = mark.Epoch, mark.Closed
}

// orderedToRun checks that an order to run is for an instance that must run on that node.
func (c *Checker) orderedToRun(node string, id events.InstanceID, o events.Order) {
	i := c.facts.instances[id]
	switch {
	case i == nil || !i.runs() || i.node != node:
		c.breach("orders", "%s is ordered to run on %s, but the log has it %s", id, node, i)
	case time.Duration(o.Window) != i.window || o.Revision != i.revision:
		c.breach("orders", "%s is ordered to run revision %d with window %s, but has revision %d with window %s",
			id, o.Revision, time.Duration(o.Window), i.revision, i.window)
	}
}

// withdrawnWithin is how long the leader delays an order to stop until the addresses are withdrawn. It does not wait longer.
const withdrawnWithin = bus.LeaseAge / 4

// orderedToStop checks that an order to stop is for a terminating instance or an orphan, and that the endpoints list it no longer.
func (c *Checker) orderedToStop(node string, id events.InstanceID, o events.Order) {
	i := c.facts.instances[id]
	c.must(i == nil || i.node != node || !i.runs(), "orders", "%s is ordered to stop, but the log has it %s", id, i)
	if i == nil || !i.retired || o.Decided <= c.log.opened || c.Now().Sub(c.log.stored) >= withdrawnWithin {
		return
	}
	for _, p := range i.ports {
		own := views.Endpoint{Ordinal: id.Ordinal, Address: i.reached(p.Name)}
		c.must(!slices.Contains(c.endpoints(id.Service, p.Name), own) || c.anotherHas(i, p.Name),
			"endpoints", "%s is ordered to stop, but the endpoints still list %s", id, own.Address)
	}
}

// endpoints returns the addresses that the endpoints of a service's port list now.
func (c *Checker) endpoints(id events.ServiceID, port string) []views.Endpoint {
	b, err := c.Server.Bucket(context.Background(), bus.BucketEndpoints)
	if err != nil {
		return nil
	}
	e, err := b.Get(context.Background(), id.Namespace+"."+id.Name+"."+port)
	if err != nil {
		return nil // there are none
	}
	var v views.Endpoints
	err = json.Unmarshal(e.Value, &v)
	c.must(err == nil, "endpoints", "%s does not read: %v", e.Key, err)
	return v.Addresses
}

// anotherHas reports whether another instance has the address by now. An orphan that turns up late may have had it before.
func (c *Checker) anotherHas(i *instance, port string) bool {
	for _, slot := range c.service(i.id.Service).slots {
		for _, o := range slot {
			if o != i && o.runs() && o.reached(port) == i.reached(port) {
				return true
			}
		}
	}
	return false
}

// reached returns the address of a port; "" if the instance has no port of that name.
func (i *instance) reached(port string) string {
	for _, p := range i.ports {
		if p.Name == port {
			return fmt.Sprintf("%s:%d", i.address, p.HostPort)
		}
	}
	return ""
}
