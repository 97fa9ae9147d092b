package rookerytest_test

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/protocol/nats_jetstream/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events/bus"
)

// TestTheCloudEventsSDKReadsARun reads every stream of a run with the consumer of the CloudEvents SDK. Each message is a valid event, and
// no two of them share both source and id.
func TestTheCloudEventsSDKReadsARun(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":3}`)
	cluster.Ensure("demo/web", `{"image":"localhost/web:2","scale":3,"update":{"min_healthy":"0s"}}`)
	cluster.Command("demo/web", "drop", `{}`)
	seen := map[string]string{}
	for stream, subject := range map[bus.Stream]string{bus.Log: "rookery.log.>", bus.Statuses: "rookery.status.>", bus.Orders: "rookery.orders.>"} {
		state, err := cluster.Bus().State(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range readByTheSDK(t, cluster.Conn, stream, subject, state.Last) {
			if other, twice := seen[e]; twice {
				t.Errorf("%s and %s both have an event %s", stream, other, e)
			}
			seen[e] = string(stream)
		}
	}
	t.Logf("%d events", len(seen))
}

// closing subscribes as the SDK does, and tells when the subscription has ended.
type closing struct {
	nats_jetstream.RegularSubscriber
	closed func()
}

// Subscribe implements nats_jetstream.Subscriber.
func (c *closing) Subscribe(jsm nats.JetStreamContext, subject string, cb nats.MsgHandler, opts ...nats.SubOpt) (*nats.Subscription, error) {
	sub, err := c.RegularSubscriber.Subscribe(jsm, subject, cb, opts...)
	if err == nil {
		sub.SetClosedHandler(func(string) { c.closed() })
	}
	return sub, err
}

// readByTheSDK returns the source and id of each event up to the last message of a stream.
func readByTheSDK(t *testing.T, conn *nats.Conn, stream bus.Stream, subject string, last uint64) (read []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	consumer, err := nats_jetstream.NewConsumerFromConn(conn, string(stream), subject, nil, []nats.SubOpt{nats.OrderedConsumer()})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	rest, closed := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	consumer.Subscriber = &closing{closed: closed}
	ended := make(chan error, 1)
	go func() { ended <- consumer.OpenInbound(ctx) }()
	defer func() {
		cancel()
		var late error
		for late == nil { // the SDK cannot stop while it has a message that nothing receives
			_, late = consumer.Receive(rest)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	for {
		m, err := consumer.Receive(ctx)
		if err != nil {
			t.Fatalf("%s: after %d messages: %v", stream, len(read), err)
		}
		e, err := binding.ToEvent(ctx, m)
		if err != nil {
			t.Fatalf("%s: %v", stream, err)
		}
		if err := e.Validate(); err != nil || e.DataContentType() != "application/json" || e.DataSchema() == "" {
			t.Errorf("%s: %v: %s", stream, err, e)
		}
		read = append(read, e.Source()+" "+e.ID())
		raw, ok := m.(*nats_jetstream.Message)
		if !ok {
			t.Fatalf("%s: the SDK gives a %T", stream, m)
		}
		at, err := raw.Msg.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		if at.Sequence.Stream == last {
			return read
		}
	}
}
