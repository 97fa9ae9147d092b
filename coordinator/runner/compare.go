package runner

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// comparedFor is how long orders are compared between two rounds: about as long as a round of a busy cluster takes, so that neither waits long
// for the other.
const comparedFor = pulseEvery / 2

// comparison compares the orders that stand when a term begins with the state: the leader before may have stored a round and ended before it
// sent the orders. A large fleet has many, so this goes on between the rounds. Until it is over no heartbeat is answered: the answer says how
// many orders the node has, and a node that reads them then takes what it finds for all of them.
type comparison struct {
	standing bus.Reader
	// mark is the sequence of this leader's first mark. This leader has written all orders that follow it.
	mark uint64
	// known are the orders that stand, or that this leader has written.
	known map[orderKey]bool
	// owed are the subjects of orders that differ from the state, and repaired how many such there were.
	owed     []string
	repaired int
	// read says that everything before the mark was read.
	read bool
}

// orderKey names an order.
type orderKey struct {
	node string
	id   events.InstanceID
}

// compareOrders begins the comparison.
func (l *leader) compareOrders() error {
	c := &comparison{mark: l.orders, known: map[orderKey]bool{}}
	err := l.patiently(l.ctx, func(ctx context.Context) (err error) {
		c.standing, err = l.Bus.Read(ctx, bus.Orders, 1)
		return err
	})
	if err == nil {
		l.comparison = c
	}
	return err
}

// messages returns the orders that stand; nil once all are read.
func (c *comparison) messages() <-chan events.Message {
	if c == nil || c.read {
		return nil
	}
	return c.standing.Messages()
}

// owes reports whether it is time to repair orders: there are many, or all that stood were read.
func (c *comparison) owes() bool {
	return c != nil && (len(c.owed) >= bus.MaxBatch || (c.read && len(c.owed) > 0))
}

// stop ends the reading of the orders.
func (c *comparison) stop() {
	if c != nil {
		c.standing.Stop()
	}
}

// note notes orders that this leader writes.
func (c *comparison) note(orders []events.Message) {
	if c == nil {
		return
	}
	for _, m := range orders {
		if node, id, ok := events.ParseOrderSubject(m.Subject); ok {
			c.known[orderKey{node, id}] = true
		}
	}
}

// compare goes on with the comparison for a while. At its end heartbeats are answered.
func (l *leader) compare() error {
	c := l.comparison
	if c == nil {
		return nil
	}
	for began := time.Now(); time.Since(began) < comparedFor; {
		select {
		case m, ok := <-c.messages():
			if err := l.takeStanding(m, ok); err != nil {
				return err
			}
			continue
		default:
		}
		break
	}
	if c.owes() {
		return l.repair(c)
	}
	if !c.read {
		return nil
	}
	if c.repaired > 0 {
		l.Log.Info("repaired orders", "count", c.repaired)
	}
	c.stop()
	l.comparison = nil
	return l.answerHeartbeats()
}

// takeStanding compares an order that stands with the state. The last is followed by those that are missing.
func (l *leader) takeStanding(m events.Message, ok bool) error {
	if !ok {
		return fmt.Errorf("%s: %w", bus.Orders, bus.ErrReader)
	}
	c := l.comparison
	if m.Sequence >= c.mark {
		c.read = true
		c.owed = append(c.owed, l.missing(c.known)...)
		return nil
	}
	node, id, ok := events.ParseOrderSubject(m.Subject)
	key := orderKey{node, id}
	if !ok || c.known[key] {
		return nil
	}
	c.known[key] = true
	wanted, exists := l.wanted(key)
	if !exists {
		if m.Header.Get(headerTTL) == "" {
			c.owed = append(c.owed, m.Subject)
		}
		return nil
	}
	if stands(m, wanted) {
		return nil
	}
	want, err := l.orderMessage(m.Subject, wanted, "")
	if err == nil && string(want.Body) != string(m.Body) {
		c.owed = append(c.owed, m.Subject)
	}
	return err
}

// wanted returns the order that the state says.
func (l *leader) wanted(key orderKey) (events.Order, bool) {
	if i := l.cluster.Instance(key.id); i != nil && i.Node == key.node {
		return l.cluster.Order(i), true
	}
	if n := l.cluster.Nodes[key.node]; n != nil && n.Orphans[key.id] != nil {
		return l.cluster.OrphanOrder(n.Orphans[key.id]), true
	}
	return events.Order{}, false
}

// missing returns, in order, the subjects of the orders that the state says and that are not known.
func (l *leader) missing(known map[orderKey]bool) []string {
	var missing []string
	look := func(key orderKey) {
		if !known[key] {
			missing = append(missing, events.OrderSubject(key.node, key.id))
		}
	}
	for _, s := range l.cluster.Services {
		for i := range s.Instances() {
			look(orderKey{i.Node, i.ID})
		}
	}
	for _, n := range l.cluster.Nodes {
		for id := range n.Orphans {
			look(orderKey{n.Name, id})
		}
	}
	slices.Sort(missing)
	return missing
}

// repair writes the next orders that differ, as the state says them now, and marks for those whose instance no longer exists.
func (l *leader) repair(c *comparison) error {
	some := c.owed[:min(len(c.owed), bus.MaxBatch)]
	messages := make([]events.Message, 0, len(some))
	for _, subject := range some {
		node, id, _ := events.ParseOrderSubject(subject)
		wanted, exists := l.wanted(orderKey{node, id})
		if !exists {
			wanted = l.cluster.ForgetOrder(0)
		}
		m, err := l.orderMessage(subject, wanted, "")
		if err != nil {
			return err
		}
		messages = append(messages, m)
	}
	if err := l.withdrawn(); err != nil {
		return err
	}
	c.owed, c.repaired = c.owed[len(some):], c.repaired+len(some)
	return l.putOrders(messages)
}

// stands reports whether the present order is the wanted one, if it was rendered from templates. Such an order holds what was known when it
// was written; addresses that came later do not justify writing it again.
func stands(standing events.Message, want events.Order) bool {
	if want.Spec == nil || !want.Spec.Templated() {
		return false
	}
	_, _, have, err := events.ParseOrder(standing)
	if err != nil || have.Spec == nil || !slices.Equal(have.Ports, want.Ports) {
		return false
	}
	have.Spec, have.Ports, want.Spec, want.Ports = nil, nil, nil, nil
	return reflect.DeepEqual(have, want)
}
