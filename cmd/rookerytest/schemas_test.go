package rookerytest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
	"github.com/rookery-project/rookery/schemas"
	"github.com/rookery-project/rookery/schemas/schematest"
)

// TestSchemasHoldForARun reads everything that a run publishes, shows and answers, and holds it to the schemas.
func TestSchemasHoldForARun(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	shown := make(chan *nats.Msg, 100_000)
	subscription, err := cluster.Conn.ChanSubscribe("$KV.>", shown)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = subscription.Unsubscribe() }()
	command := func(subject, body string) {
		t.Helper()
		sequence, err := cluster.Bus().Publish(t.Context(), events.Message{Subject: events.CommandRoot + "." + subject, Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		if outcome := cluster.Outcome(sequence); outcome.Outcome != "succeeded" {
			t.Fatalf("%s of %s ended as %+v", subject, body, outcome)
		}
	}
	command("cluster.policy", `{"profile":"distribute-load"}`)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":3,"ports":[{"name":"http","port":80}],"update":{"min_healthy":"0s"}}`)
	cluster.Ensure("demo/web", `{"image":"localhost/web:2","scale":3,"ports":[{"name":"http","port":80}],"update":{"min_healthy":"0s","canaries":1,"promote":"auto"}}`)
	cluster.Command("demo/web", "restart", `{}`)
	cluster.Command("demo/web", "scale", `{"scale":2}`)
	cluster.Ensure("demo/agent", `{"image":"localhost/agent:1","mode":"global"}`)
	cluster.Ensure("demo/kv", `{"image":"localhost/kv:1","scale":2,"topology":{},"update":{"min_healthy":"0s"}}`)
	cluster.Command("demo/kv", "scale", `{"scale":3}`)
	cluster.Command("demo/kv", "suspend", `{}`)
	cluster.Command("demo/kv", "resume", `{}`)
	command("group.demo.shop.ensure", `{"services":{"db":{"image":"localhost/db:1"},"api":{"image":"localhost/api:1","after":["db"]}}}`)
	command("node.node-0.drain", `{"deadline":"1m"}`)
	command("node.node-0.resume", `{}`)
	cluster.Command("demo/agent", "drop", `{}`)
	cluster.Outcome(cluster.Publish("demo/web", "scale", `{"scale":-1}`))
	cluster.Publish("demo/waits", "ensure", `{"image":"localhost/web:1","node_selector":{"disk":"tape"}}`)
	answered(t, cluster)
	kinds := published(t, cluster)
	values := viewed(t, shown)
	t.Logf("%d kinds of messages, %v values of views", len(kinds), values)
	for bucket, count := range values {
		if count == 0 {
			t.Errorf("%s has shown nothing", bucket)
		}
	}
}

// answered asks every question in each of its ways.
func answered(t *testing.T, cluster *rookerytest.Cluster) {
	t.Helper()
	asked := map[string]bool{}
	for _, q := range []struct{ name, body string }{
		{"actual", `{"node":"node-0"}`},
		{"addresses", `{"namespace":"demo","name":"web","port":"http"}`},
		{"command", `{"sequence":2}`},
		{"command", `{"sequence":3,"wait":"1s"}`},
		{"diff", `{"from":10}`},
		{"diff", `{"from":10,"to":40,"service":"demo/web"}`},
		{"explain", `{"service":"demo/web"}`},
		{"explain", `{"service":"demo/waits"}`},
		{"history", `{"service":"demo/web","limit":5}`},
		{"exec", `{"service":"demo/web","ordinal":0}`},
		{"logs", `{"service":"demo/web","tail":5}`},
		{"plan", `{"namespace":"demo","name":"web","verb":"ensure","body":{"image":"localhost/web:3"}}`},
		{"plan", `{"node":"node-1","verb":"drain","body":{}}`},
		{"plan", `{"verb":"rebalance","body":{}}`},
		{"plan", `{"group":"demo/shop","verb":"cancel","body":{}}`},
		{"plan", `{"node":"node-1","verb":"pause","body":{}}`},
		{"state", `{}`},
		{"state", `{"live":true}`},
		{"state", `{"at_seq":40}`},
		{"service-metrics", `{"namespace":"demo","name":"web"}`},
		{"what-if", `{"policy":{"profile":"optimize-utilization"},"from":1}`},
		{"services", `{}`},
		{"operations", `{"namespace":"demo","limit":2}`},
		{"instances", `{"node":"node-1"}`},
		{"nodes", `{}`},
	} {
		asked[q.name] = true
		if err := schematest.Validate(t, schemas.Question(q.name), []byte(q.body)); err != nil {
			t.Errorf("the question %s: %s: %v", q.name, q.body, err)
		}
		answer, err := cluster.Conn.Request(events.APIRoot+"."+q.name, []byte(q.body), time.Minute)
		if err != nil {
			t.Fatalf("%s: %v", q.name, err)
		}
		if why := answer.Header.Get("Nats-Service-Error"); why != "" {
			t.Errorf("%s of %s is answered with %s", q.name, q.body, why)
			continue
		}
		if err := schematest.Validate(t, schemas.Answer(q.name), answer.Data); err != nil {
			t.Errorf("the answer to %s of %s: %s: %v", q.name, q.body, answer.Data, err)
		}
	}
	for name := range api.Shapes() {
		if !asked[name] {
			t.Errorf("the question %s was not asked", name)
		}
		answer, err := cluster.Conn.Request(events.APIRoot+"."+name, []byte(`{"none":1}`), time.Minute)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := schematest.Validate(t, schemas.Refusal(), answer.Data); err != nil || answer.Header.Get(bus.HeaderErrorCode) != "400" {
			t.Errorf("an invalid question %s is answered with %s: %v", name, answer.Data, err)
		}
	}
}

// published returns the kinds of all messages in the streams.
func published(t *testing.T, cluster *rookerytest.Cluster) map[events.Kind]bool {
	t.Helper()
	kinds := map[events.Kind]bool{}
	for _, stream := range []bus.Stream{bus.Log, bus.Statuses, bus.Orders} {
		state, err := cluster.Bus().State(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		reader, err := cluster.Bus().Read(t.Context(), stream, state.First)
		if err != nil {
			t.Fatal(err)
		}
		for m := range reader.Messages() {
			kind, known := events.ParseKind(m.Header.Get("ce-type"))
			if !known {
				t.Fatalf("%s has a message of the type %q", stream, m.Header.Get("ce-type"))
			}
			kinds[kind] = true
			if err := schematest.Validate(t, kind, m.Body); err != nil {
				t.Errorf("%s: %s: %v", m.Subject, m.Body, err)
			}
			if m.Sequence >= state.Last {
				break
			}
		}
		reader.Stop()
	}
	return kinds
}

// viewed counts the values that each bucket of views was given.
func viewed(t *testing.T, shown <-chan *nats.Msg) map[string]int {
	t.Helper()
	values := map[string]int{}
	for bucket := range views.Shapes() {
		values[bucket] = 0
	}
	for len(shown) > 0 {
		m := <-shown
		bucket := strings.Split(m.Subject, ".")[1]
		if _, view := values[bucket]; !view || len(m.Data) == 0 {
			continue
		}
		values[bucket]++
		if err := schematest.Validate(t, schemas.View(bucket), m.Data); err != nil {
			t.Errorf("%s: %s: %v", m.Subject, m.Data, err)
		}
	}
	return values
}
