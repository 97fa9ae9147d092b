package runner_test

import (
	"slices"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
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
