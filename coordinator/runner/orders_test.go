package runner_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
)

const peered = `"image":"localhost/web:1","ports":[{"name":"http","port":80}],"args":["{{join (.Peers \"http\") \",\"}}"]`

// TestOrdersHoldThePeersThatWereKnown places two instances in one round and a third in another. The orders of the first two hold the peers
// that were known when they were written. Neither later instances nor another leader change them.
func TestOrdersHoldThePeersThatWereKnown(t *testing.T) {
	both(t, func(t *testing.T, b bus.Bus) {
		told, err := b.Subscribe(events.OrderRoot + ".>")
		if err != nil {
			t.Fatal(err)
		}
		defer told.Stop()
		stop := start(t, b, "first")
		hello(t, b)
		tell(t, b, "ensure", `{`+peered+`,"scale":2}`)
		wantArgs(t, told, 0, "10.0.0.1:20000,10.0.0.1:20001")
		wantArgs(t, told, 1, "10.0.0.1:20000,10.0.0.1:20001")
		tell(t, b, "scale", `{"scale":3,"busy":"supersede"}`)
		wantArgs(t, told, 2, "10.0.0.1:20000,10.0.0.1:20001,10.0.0.1:20002")
		stop()
		stop = start(t, b, "second")
		defer stop()
		tell(t, b, "scale", `{"scale":4,"busy":"supersede"}`)
		wantArgs(t, told, 3, "10.0.0.1:20000,10.0.0.1:20001,10.0.0.1:20002,10.0.0.1:20003")
	})
}

func hello(t *testing.T, b bus.Bus) {
	t.Helper()
	join(t, b, "n0")
}

func tell(t *testing.T, b bus.Bus, verb, body string) {
	t.Helper()
	if _, err := b.Publish(t.Context(), events.Message{Subject: events.CommandSubject(web, verb), Header: events.Header{}, Body: []byte(body)}); err != nil {
		t.Fatal(err)
	}
}

// wantArgs wants the next order that is told to be that of the slot's instance, with this argument.
func wantArgs(t *testing.T, told bus.Subscription, ordinal uint32, want string) {
	t.Helper()
	m := next(t, told)
	for m.Subject == "rookery.order.epoch" {
		m = next(t, told)
	}
	_, id, order, err := events.ParseOrder(m)
	if err != nil {
		t.Fatal(err)
	}
	if id.Ordinal != ordinal || order.Spec == nil || !slices.Equal(order.Spec.Args, []string{want}) {
		t.Fatalf("the order of %s is %+v with %+v; want that of slot %d with %s", id, order, order.Spec, ordinal, want)
	}
}

// TestANewLeaderRepairsOrders changes one order while nothing leads, removes another, and adds one of an instance that does not exist.
func TestANewLeaderRepairsOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		told := subscribed(t, b, events.OrderRoot+".n0.>")
		stop := start(t, b, "first")
		hello(t, b)
		tell(t, b, "ensure", `{"image":"localhost/web:1","scale":3}`)
		before := map[uint32]events.Message{}
		for range 3 {
			m := next(t, told)
			_, id, _, err := events.ParseOrder(m)
			if err != nil {
				t.Fatal(err)
			}
			before[id.Ordinal] = m
		}
		stop()
		standing, err := b.Latest(t.Context(), bus.Orders, events.OrdersRoot+".>")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range standing {
			_, id, ok := events.ParseOrderSubject(m.Subject)
			switch {
			case ok && id.Ordinal == 0:
				b.Damage(bus.Orders, m.Sequence, func(m events.Message) (events.Message, bool) {
					m.Body = bytes.Replace(m.Body, []byte("web:1"), []byte("web:2"), 1)
					return m, true
				})
			case ok && id.Ordinal == 1:
				b.Damage(bus.Orders, m.Sequence, func(m events.Message) (events.Message, bool) { return m, false })
			}
		}
		last := standing[len(standing)-1]
		unknown := before[2]
		unknown.Subject = events.OrderSubject("n0", events.InstanceID{Service: web, Ordinal: 9, Generation: 1})
		if _, err := b.Append(t.Context(), bus.Orders, last.Sequence, []events.Message{unknown}); err != nil {
			t.Fatal(err)
		}
		next(t, told) // the one of no instance
		defer start(t, b, "second")()
		for range 3 {
			m := next(t, told)
			_, id, order, err := events.ParseOrder(m)
			switch {
			case err != nil:
				t.Fatal(err)
			case id.Ordinal == 9 && order.Action == events.ActionForget:
			case id.Ordinal < 2 && bytes.Equal(m.Body, before[id.Ordinal].Body):
			default:
				t.Errorf("the repaired order of %s is %s", id, m.Body)
			}
		}
		synctest.Wait()
		select {
		case m := <-told.Messages():
			t.Errorf("another order was written: %s: %s", m.Subject, m.Body)
		default:
		}
	})
}

// heldOrders is a bus that delivers no standing order until it is released.
type heldOrders struct {
	bus.Bus
	released chan struct{}
}

// Read implements bus.Bus.
func (h heldOrders) Read(ctx context.Context, stream bus.Stream, from uint64) (bus.Reader, error) {
	r, err := h.Bus.Read(ctx, stream, from)
	if stream == bus.Orders {
		return heldReader{r, h.released}, err
	}
	return r, err
}

type heldReader struct {
	bus.Reader
	released chan struct{}
}

// Messages implements bus.Reader.
func (h heldReader) Messages() <-chan events.Message {
	select {
	case <-h.released:
		return h.Reader.Messages()
	default:
		return nil
	}
}

// TestALeaderDecidesWhileItComparesOrders has a leader decide a command before it has read any order. Only then are heartbeats answered.
func TestALeaderDecidesWhileItComparesOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		told := subscribed(t, b, events.OrderRoot+".n0.>")
		stop := start(t, b, "first")
		hello(t, b)
		tell(t, b, "ensure", `{"image":"localhost/web:1"}`)
		next(t, told)
		stop()
		held := heldOrders{b, make(chan struct{})}
		defer start(t, held, "second")()
		tell(t, b, "scale", `{"scale":2,"busy":"supersede"}`)
		next(t, told)
		if err := tryBeat(t, b, "n0", "i"); !errors.Is(err, bus.ErrNoAnswer) {
			t.Errorf("before the orders were compared a heartbeat got %v", err)
		}
		close(held.released)
		<-time.After(bus.LeaseAge)
		beat(t, b, "n0")
	})
}

// goesOn is a bus on which a leader closes a round before the orders are read.
type goesOn struct {
	bus.Bus
	round func()
}

// Latest implements bus.Bus.
func (g goesOn) Latest(ctx context.Context, stream bus.Stream, filter string) ([]events.Message, error) {
	g.round()
	return g.Bus.Latest(ctx, stream, filter)
}

// TestTheStreamsAreCheckedWhileALeaderGoesOn has a leader close a round between the reading of the log and that of the orders.
func TestTheStreamsAreCheckedWhileALeaderGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		told := subscribed(t, b, events.OrderRoot+".n0.>")
		defer start(t, b, "first")()
		hello(t, b)
		tell(t, b, "ensure", `{"image":"localhost/web:1"}`)
		next(t, told)
		busy := goesOn{b, func() {
			tell(t, b, "scale", `{"scale":2,"busy":"supersede"}`)
			next(t, told)
		}}
		if err := runner.CheckIdentity(t.Context(), busy); err != nil {
			t.Errorf("the check says %v", err)
		}
	})
}
