package rookerytest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	coordinatorrunner "github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/embedded"
	"github.com/rookery-project/rookery/node"
	noderunner "github.com/rookery-project/rookery/node/runner"
)

// The benchmarks report pairs of metrics, "x" for ours and "bare-x" for the bare thing measured beside it in the same
// run; `make bench` makes one table of them. Each does a fixed amount of work: run them with -benchtime 1x.

// benchPatience bounds every wait of a benchmark.
const benchPatience = time.Minute

// house is a whole Rookery for benchmarks: a NATS server with the streams as in production, and the parts that run on it.
type house struct {
	b         *testing.B
	server    *embedded.Server
	inProcess bool
	closing   []func() // in reverse order
}

// newHouse starts a server. Connections go over TCP unless inProcess.
func newHouse(b *testing.B, inProcess bool) *house {
	b.Helper()
	server, err := embedded.Start(b.TempDir(), "127.0.0.1", embedded.AnyPort)
	if err != nil {
		b.Fatal(err)
	}
	h := &house{b: b, server: server, inProcess: inProcess}
	b.Cleanup(h.close)
	h.closing = append(h.closing, server.Stop)
	if err := h.connect().Init(b.Context(), 1); err != nil {
		b.Fatal(err)
	}
	return h
}

// close ends all parts, the last one first. It may be called twice.
func (h *house) close() {
	for _, end := range slices.Backward(h.closing) {
		end()
	}
	h.closing = nil
}

func (h *house) connect() *bus.JetStream {
	h.b.Helper()
	dial := func() (*nats.Conn, error) { return nats.Connect(h.server.URL()) }
	if h.inProcess {
		dial = func() (*nats.Conn, error) { return h.server.Connect("bench") }
	}
	conn, err := dial()
	if err != nil {
		h.b.Fatal(err)
	}
	h.closing = append(h.closing, conn.Close)
	opened, err := bus.New(conn)
	if err != nil {
		h.b.Fatal(err)
	}
	return opened
}

// run runs one part until close.
func (h *house) run(part func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := part(ctx); err != nil {
			h.b.Errorf("a coordinator or node failed: %v", err)
		}
	})
	h.closing = append(h.closing, func() {
		cancel()
		ended.Wait()
	})
}

// coordinator runs a coordinator, which believes in its nodes for this long.
func (h *house) coordinator(heartbeat time.Duration) {
	h.run(coordinatorrunner.New(coordinatorrunner.Config{
		Bus: h.connect(), Name: "bench", Log: slog.New(slog.DiscardHandler), Heartbeat: heartbeat,
	}).Run)
}

// node runs a node.
func (h *house) node(name string, engine node.Engine, first uint16) {
	h.run(noderunner.New(noderunner.Config{
		Bus: h.connect(), Engine: engine, Name: name, Log: slog.New(slog.DiscardHandler), Facts: facts(first),
	}).Run)
}

// facts are those of a node with 2,000 ports from first on.
func facts(first uint16) events.NodeFacts {
	return events.NodeFacts{
		Address: "127.0.0.1", Capacity: events.Capacity{CPU: 8, Memory: 16 << 30, Disk: 100 << 30},
		Ports: events.PortRange{First: first, Last: first + 1999},
	}
}

// hello introduces a node that never sends anything else: the node exists only in the state.
func (h *house) hello(on bus.Bus, name string) {
	h.b.Helper()
	m, err := events.Encode(events.HelloSubject(name), events.Hello{Incarnation: "i-" + name, NodeFacts: facts(20_000)},
		events.Attributes{ID: name, Source: "/bench", Time: time.Now()})
	if err != nil {
		h.b.Fatal(err)
	}
	if _, err := on.Publish(h.b.Context(), m); err != nil {
		h.b.Fatal(err)
	}
}

// joining returns a function that waits until count nodes have joined since.
func joining(b testing.TB, on bus.Bus, count int) (wait func()) {
	b.Helper()
	joined := subscribe(b, on, events.EventRoot+".node.*.joined")
	return func() {
		for range count {
			receive(b, joined)
		}
	}
}

// command sends a command without waiting until it is stored.
func command(b *testing.B, on bus.Bus, service, verb, body string) {
	b.Helper()
	id := events.ServiceID{Namespace: "demo", Name: service}
	if err := on.Send(events.Message{Subject: events.CommandSubject(id, verb), Body: []byte(body)}); err != nil {
		b.Fatal(err)
	}
}

func subscribe(b testing.TB, on bus.Bus, subject string) <-chan events.Message {
	b.Helper()
	s, err := on.Subscribe(subject)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Stop)
	return s.Messages()
}

func receive(b testing.TB, from <-chan events.Message) events.Message {
	b.Helper()
	select {
	case m := <-from:
		return m
	case <-time.After(benchPatience):
		b.Fatal("gave up waiting for a message")
		return events.Message{}
	}
}

// again returns the message as it was before the bus stored it, for another one of its size.
func again(m events.Message) events.Message {
	m.Header = maps.Clone(m.Header)
	maps.DeleteFunc(m.Header, func(name string, _ []string) bool { return strings.HasPrefix(name, "Nats-") })
	m.Sequence = 0
	return m
}

// latencies reports the percentiles of ours and, where there are any, of the bare ones.
func latencies(b *testing.B, ours, bare []time.Duration) {
	b.Helper()
	for prefix, took := range map[string][]time.Duration{"": ours, "bare-": bare} {
		if len(took) == 0 {
			continue
		}
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2].Seconds()*1000, prefix+"p50-ms")
		b.ReportMetric(took[len(took)*99/100].Seconds()*1000, prefix+"p99-ms")
	}
	b.ReportMetric(0, "ns/op")
}

// rates reports how many of a thing there were in a second.
func rates(b *testing.B, what string, count int, ours, bare time.Duration) {
	b.Helper()
	b.ReportMetric(float64(count)/ours.Seconds(), what+"/s")
	if bare > 0 {
		b.ReportMetric(float64(count)/bare.Seconds(), "bare-"+what+"/s")
	}
	b.ReportMetric(0, "ns/op")
}

func serviceName(i int) string { return fmt.Sprintf("s%d", i) }

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

// middle sorts the times and returns their median.
func middle(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/2]
}

// ask returns what the coordinator says of the cluster.
func (h *house) ask(on *bus.JetStream) (state api.ClusterState, err error) {
	answer, err := on.Request(h.b.Context(), events.Message{Subject: events.APIRoot + ".state", Body: []byte(`{"live":true}`)})
	if err == nil {
		err = json.Unmarshal(answer.Body, &state)
	}
	return state, err
}
