// Package rookerytest runs a whole Rookery inside a test: a real NATS server, a coordinator and nodes whose containers
// are simulated.
//
//	cluster := rookerytest.Start(t)
//	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":3}`)
//	cluster.Command("demo/web", "scale", `{"scale":5}`)
//
// Everything ends with the test. A test asks the bus for what it wants to know, as any client does: see URL and Conn.
package rookerytest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	coordinator "github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/embedded"
	noderunner "github.com/rookery-project/rookery/node/runner"
	"github.com/rookery-project/rookery/node/simulated"
)

// patience bounds every wait of a test.
const patience = 2 * time.Minute

// heartbeat is the interval of the nodes: short, so that tests soon see a lost order or node.
const heartbeat = 500 * time.Millisecond

// snapshotEvery is how often the coordinator takes a snapshot of the fold: often enough that tests read one.
const snapshotEvery = 100

// ownProgram is what the coordinator and the nodes say of themselves.
var ownProgram = events.Program{Levels: events.OwnLevels}

// Cluster is a Rookery that lives as long as its test.
type Cluster struct {
	// URL is where the NATS server listens, and Conn a connection to it.
	URL  string
	Conn *nats.Conn
	// Nodes are the engines of the nodes, by name: their containers can be looked at and killed.
	Nodes map[string]*simulated.Engine

	t       testing.TB
	options []nats.Option
	bus     *bus.JetStream
	log     *slog.Logger
	parts   map[string]*part
	meter   func(part string) metric.Meter
	trace   func(part string) trace.Tracer
}

// part is a process of the cluster: a coordinator or a node's agent.
type part struct {
	conn   *nats.Conn
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // of the part, once it has ended
}

// stop ends the part and returns how it ended.
func (p *part) stop() error {
	p.cancel()
	<-p.ended
	return p.err
}

// Option changes what Start runs.
type Option func(*settings)

type settings struct {
	nodes       int
	coordinator bool
	log         io.Writer
	server      string
	options     []nats.Option
	meter       func(part string) metric.Meter
	trace       func(part string) trace.Tracer
}

// WithNodes starts the cluster with this many nodes, node-0 and on. The default is 3.
func WithNodes(n int) Option { return func(s *settings) { s.nodes = n } }

// WithoutCoordinator leaves the coordinators to the test.
func WithoutCoordinator() Option { return func(s *settings) { s.coordinator = false } }

// WithServer makes the cluster use the NATS server at this URL, which the test runs itself. The options are for each connection to it, like those with
// credentials.
func WithServer(url string, options ...nats.Option) Option {
	return func(s *settings) { s.server, s.options = url, options }
}

// WithLog writes the logs of the coordinator and the nodes.
func WithLog(w io.Writer) Option { return func(s *settings) { s.log = w } }

// WithMetrics makes the coordinator and the nodes measure, with the instruments that meter makes for each part. The nodes also publish the
// use of their instances with each heartbeat.
func WithMetrics(meter func(part string) metric.Meter) Option {
	return func(s *settings) { s.meter = meter }
}

// WithTraces makes the coordinator and the nodes trace the commands that arrive with a trace, with the tracer that tracer returns for each
// part.
func WithTraces(tracer func(part string) trace.Tracer) Option {
	return func(s *settings) { s.trace = tracer }
}

// Start runs a cluster that ends with the test. It fails the test if the cluster does not start.
func Start(t testing.TB, options ...Option) *Cluster {
	t.Helper()
	s := settings{nodes: 3, coordinator: true, log: io.Discard}
	for _, o := range options {
		o(&s)
	}
	if s.server == "" {
		s.server = startServer(t)
	}
	c := &Cluster{URL: s.server, options: s.options, Nodes: map[string]*simulated.Engine{}, t: t, parts: map[string]*part{}, meter: s.meter, trace: s.trace}
	c.Conn = c.connect()
	var err error
	if c.bus, err = bus.New(c.Conn); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.bus.Init(ctx, 1); err != nil {
		t.Fatal(err)
	}
	c.log = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if s.coordinator {
		c.parts["coordinator"] = c.run(func(ctx context.Context, b bus.Bus) error {
			return coordinator.New(coordinator.Config{
				Bus: b, Name: "coordinator", Program: ownProgram, Log: c.log.With("part", "coordinator"), Heartbeat: heartbeat, SnapshotEvery: snapshotEvery,
				Meter: c.meterOf("coordinator/runner"), Tracer: c.tracerOf("coordinator/runner"),
			}).Run(ctx)
		})
	}
	for i := range s.nodes {
		name := fmt.Sprintf("node-%d", i)
		c.Nodes[name] = simulated.New(events.Capacity{CPU: 8, Memory: 16 << 30, Disk: 100 << 30})
		c.StartNode(name)
	}
	t.Cleanup(func() { c.end(s.coordinator) })
	if s.coordinator {
		c.State() // without it a test's first question may come before the coordinator listens
	}
	return c
}

// startServer runs a NATS server that ends with the test, and returns its URL.
func startServer(t testing.TB) string {
	t.Helper()
	server, err := embedded.Start(t.TempDir(), "127.0.0.1", embedded.AnyPort)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server.URL()
}

// StartNode runs an agent under the name of the node, on the engine of the node. Agents that run already keep running.
func (c *Cluster) StartNode(name string) {
	c.t.Helper()
	const ports, ranges = 1000, 40
	index := 0
	if _, err := fmt.Sscanf(name, "node-%d", &index); err != nil {
		c.t.Fatalf("node %s is not one that Start made: %v", name, err)
	}
	first, engine := uint16(20_000+index%ranges*ports), c.Nodes[name]
	sampleEvery := time.Duration(0)
	if c.meter != nil {
		sampleEvery = heartbeat
	}
	c.parts[name] = c.run(func(ctx context.Context, b bus.Bus) error {
		return noderunner.New(noderunner.Config{
			Meter: c.meterOf("node/runner"), Tracer: c.tracerOf("node/runner"), SampleEvery: sampleEvery,
			Bus: b, Engine: engine, Name: name, Program: ownProgram, Log: c.log.With("part", name), Heartbeat: heartbeat,
			Facts: events.NodeFacts{Address: "127.0.0.1", Ports: events.PortRange{First: first, Last: first + ports - 1}},
		}).Run(ctx)
	})
}

// meterOf returns the meter of a part, or nil without WithMetrics.
func (c *Cluster) meterOf(part string) metric.Meter {
	if c.meter == nil {
		return nil
	}
	return c.meter(part)
}

// tracerOf returns the tracer of a part, or nil without WithTraces.
func (c *Cluster) tracerOf(part string) trace.Tracer {
	if c.trace == nil {
		return nil
	}
	return c.trace(part)
}

// StopNode ends the latest agent of the node. Its containers keep running.
func (c *Cluster) StopNode(name string) {
	c.t.Helper()
	if err := c.parts[name].stop(); err != nil {
		c.t.Errorf("node %s ended with an error: %v", name, err)
	}
}

// CutNode breaks the connection of the latest agent of the node to the NATS server, as a network does. The agent reconnects by itself.
func (c *Cluster) CutNode(name string) {
	c.t.Helper()
	if err := c.parts[name].conn.ForceReconnect(); err != nil {
		c.t.Fatal(err)
	}
}

// run runs a part of the cluster on its own connection until the test ends.
func (c *Cluster) run(work func(context.Context, bus.Bus) error) *part {
	c.t.Helper()
	conn := c.connect()
	b, err := bus.New(conn)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &part{conn: conn, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		p.err = work(ctx, b)
		if p.err != nil && !errors.Is(p.err, noderunner.ErrSuperseded) {
			c.t.Errorf("a part of the cluster failed: %v", p.err)
		}
	}()
	c.t.Cleanup(func() {
		cancel()
		<-p.ended
	})
	return p
}

// end checks what must hold at the end of every test, while the coordinator still answers.
func (c *Cluster) end(coordinator bool) {
	if coordinator && !c.t.Failed() {
		c.CheckReplay()
	}
}

func (c *Cluster) connect() *nats.Conn {
	c.t.Helper()
	conn, err := nats.Connect(c.URL, append(slices.Clone(c.options), nats.Name("rookerytest"), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(conn.Close)
	return conn
}

// Bus returns the cluster's bus.
func (c *Cluster) Bus() *bus.JetStream { return c.bus }

// Ensure publishes an ensure of the service with this spec, and waits until every instance serves. It fails the test if the command does
// not succeed.
func (c *Cluster) Ensure(service, spec string) {
	c.t.Helper()
	c.Command(service, "ensure", spec)
}

// Command publishes a command and waits until it has succeeded. It fails the test if the command does not succeed.
func (c *Cluster) Command(service, verb, body string) {
	c.t.Helper()
	sequence := c.Publish(service, verb, body)
	if outcome := c.Outcome(sequence); outcome.Outcome != "succeeded" {
		c.t.Fatalf("%s of %s ended as %s: %+v", verb, service, outcome.Outcome, outcome)
	}
}

// Publish publishes a command and returns its sequence in ROOKERY_COMMANDS.
func (c *Cluster) Publish(service, verb, body string) uint64 {
	c.t.Helper()
	id, err := events.ParseServiceID(service)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	sequence, err := c.bus.Publish(ctx, events.Message{Subject: c.bus.CommandSubject(events.CommandSubject(id, verb)), Body: []byte(body)})
	if err != nil {
		c.t.Fatal(err)
	}
	return sequence
}

// Outcome waits until the command has ended, and returns its outcome.
func (c *Cluster) Outcome(sequence uint64) api.Command {
	c.t.Helper()
	question := fmt.Sprintf(`{"sequence":%d}`, sequence)
	var outcome api.Command
	c.Until("the command has ended", func() bool {
		outcome = api.Command{}
		return c.Ask("command", question, &outcome) && outcome.Outcome != "" && outcome.Outcome != "accepted"
	})
	return outcome
}

// State returns what the answering coordinator says of the cluster, with the hash of the state that it has in memory.
func (c *Cluster) State() api.ClusterState {
	c.t.Helper()
	var state api.ClusterState
	c.Until("a coordinator answers", func() bool { return c.Ask("state", `{"live":true}`, &state) })
	return state
}

// Ask asks the question and reads the answer. It reports false if no coordinator answers yet, or if the answer is an error.
func (c *Cluster) Ask(question, body string, answer any) bool {
	c.t.Helper()
	const once = 5 * time.Second
	m, err := c.Conn.Request(c.bus.QuestionSubject(question, ""), []byte(body), once)
	if err != nil || m.Header.Get("Nats-Service-Error-Code") != "" {
		return false
	}
	if err := json.Unmarshal(m.Data, answer); err != nil {
		c.t.Fatalf("the answer to %s does not read: %v: %s", question, err, m.Data)
	}
	return true
}

// Until waits until the condition holds. It checks often at first and then less often, because each check takes time from the system under
// test. It fails the test if that takes too long.
func (c *Cluster) Until(what string, condition func() bool) {
	c.t.Helper()
	const soonest, latest = 5 * time.Millisecond, 100 * time.Millisecond
	wait := soonest
	timer := time.NewTimer(wait)
	defer timer.Stop()
	deadline := time.After(patience)
	for !condition() {
		select {
		case <-timer.C:
			wait = min(wait*2, latest)
			timer.Reset(wait)
		case <-deadline:
			c.t.Fatalf("gave up after %s waiting until %s", patience, what)
		}
	}
}
