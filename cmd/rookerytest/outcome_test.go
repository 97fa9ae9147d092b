package rookerytest_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// TestPublisherLearnsFateAfterReconnecting closes the connection of a publisher right after the acknowledgement. The publisher learns the
// outcome of its command on another connection, by the sequence in the acknowledgement.
func TestPublisherLearnsFateAfterReconnecting(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	publish := func(verb, body string) uint64 {
		conn, err := nats.Connect(cluster.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		b, err := bus.New(conn)
		if err != nil {
			t.Fatal(err)
		}
		sequence, err := b.Publish(ctx, events.Message{
			Subject: events.CommandSubject(events.ServiceID{Namespace: "demo", Name: "web"}, verb), Body: []byte(body),
		})
		if err != nil {
			t.Fatal(err)
		}
		return sequence
	}
	good := publish("ensure", `{"image":"localhost/web:1","scale":2}`)
	if outcome := cluster.Outcome(good); outcome.Outcome != "succeeded" || outcome.Service != "demo/web" || outcome.Verb != "ensure" {
		t.Errorf("the outcome of the command is %+v, want succeeded", outcome)
	}
	bad := publish("scale", `{"scale":-1}`)
	outcome := cluster.Outcome(bad)
	if outcome.Outcome != "rejected" || outcome.Rejection == nil || outcome.Rejection.Field != "scale" {
		t.Errorf("the outcome of the bad command is %+v, want rejected for its scale", outcome)
	}
	var none any
	if cluster.Ask("command", `{"sequence":99}`, &none) {
		t.Errorf("a command that was never published has the outcome %v", none)
	}
}
