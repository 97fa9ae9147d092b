package rookerytest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/supply"
	noderunner "github.com/rookery-project/rookery/node/runner"
	"github.com/rookery-project/rookery/node/simulated"
)

const (
	clientPort, routePort, healthPort = 4222, 6222, 8222
	serverCount                       = 3
	// simulatedNodes is how many nodes with simulated engines there are beside the three hosts.
	simulatedNodes = 50
	// simulatedServices is how many services run on these, with as many instances each as simulatedScale says.
	simulatedServices, simulatedScale = 20, 5
)

// quorum is a trial whose bus is three NATS servers, each on a machine of its own, with three coordinators.
type quorum struct {
	*trial
	servers []*busServer
	url     string
	clients []*bus.JetStream // one of each server
	shared  scalings         // what they have done to the shared services
	// weights is the resident memory of each process after each experiment, in MiB.
	weights map[string][]float64
}

// busServer is one of the NATS servers. The first has a small disk of its own.
type busServer struct {
	*host
	config, folder string
	process        *process
}

// newQuorum starts three servers on machines of the trial, and makes the streams on all of them.
func newQuorum(f *trial) *quorum {
	f.t.Helper()
	q := newServers(f, serverCount)
	q.init()
	return q
}

// newServers starts servers on machines of the trial.
func newServers(f *trial, count int) *quorum {
	f.t.Helper()
	q := &quorum{trial: f, weights: map[string][]float64{}}
	var urls, routes []string
	for i := range count {
		s := &busServer{host: q.network.newMachine(fmt.Sprintf("server-%d", i+1), ""), folder: f.t.TempDir()}
		if i == 0 {
			s.folder = smallDisk(f.t)
		}
		q.servers = append(q.servers, s)
		urls = append(urls, fmt.Sprintf("nats://%s:%d", s.address, clientPort))
		routes = append(routes, fmt.Sprintf("nats://%s:%d", s.address, routePort))
	}
	q.url = strings.Join(urls, ",")
	for _, s := range q.servers {
		s.configure(routes)
		q.startServer(s)
	}
	return q
}

// startQuorum starts a fleet on three servers that ends with the test.
func startQuorum(t *testing.T) *quorum {
	t.Helper()
	q := newQuorum(newTrial(t))
	q.meet(q.url)
	for i, s := range q.servers {
		q.clients = append(q.clients, connect(q.t, fmt.Sprintf("client-%d", i+1), fmt.Sprintf("nats://%s:%d", s.address, clientPort), nats.IgnoreDiscoveredServers()))
	}
	q.makeProbe()
	for i := range serverCount {
		q.seat(&seat{host: q.network.newMachine(fmt.Sprintf("leader-%d", i+1), ""), server: q.url})
	}
	q.engines = map[string]*simulated.Engine{}
	for i := range simulatedNodes {
		name := fmt.Sprintf("node-%d", i)
		q.engines[name] = startSimulated(t, connect(t, name, q.url), i, fleetHeartbeat)
	}
	for _, h := range q.hosts {
		h.server = q.url
		q.startNode(h)
	}
	q.where = `,"node_selector":{"engine":"podman"}`
	q.found()
	var asked []uint64
	for i := range simulatedServices {
		asked = append(asked, q.Publish(simulatedService(i), "ensure", fmt.Sprintf(
			`{"image":"localhost/web:1","scale":%d,"node_selector":{"engine":"simulated"}}`, simulatedScale)))
	}
	for i := range sharedServices {
		asked = append(asked, q.Publish(sharedService(i), "ensure", fmt.Sprintf(
			`{"image":"localhost/web:1","scale":%d,"node_selector":{"engine":"simulated"}}`, sharedScale)))
	}
	for _, sequence := range asked {
		ends(t, q.Cluster, sequence)
	}
	return q
}

func simulatedService(i int) string { return fmt.Sprintf("sim/s%d", i) }

// configure writes the server's configuration, which writes each message to the disk before it acknowledges it.
func (s *busServer) configure(routes []string) {
	s.t.Helper()
	s.config = filepath.Join(s.t.TempDir(), "nats.conf")
	text := fmt.Sprintf(`server_name: %s
listen: "%s:%d"
http: "%[2]s:%[4]d"
jetstream {store_dir: %[5]q, sync_interval: always, max_file_store: 10GB}
cluster {name: rookery, listen: "%[2]s:%[6]d", routes: [%[7]s]}
lame_duck_grace_period: 1s
lame_duck_duration: 30s
`, s.name, s.address, clientPort, healthPort, s.folder, routePort, strings.Join(routes, ", "))
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// startServer starts the server on its machine, behind these words of a command that runs it.
func (q *quorum) startServer(s *busServer, behind ...string) {
	path, err := natsServer()
	if err != nil {
		q.t.Fatal(err)
	}
	words := append(slices.Clone(behind), path, "--config", s.config)
	s.process = q.launch(s.host, words[0], words[1:]...)
}

// healthy reports whether the server says that all streams that it keeps are up to date.
func (s *busServer) healthy() bool {
	_, ok := fetched(fmt.Sprintf("http://%s:%d/healthz", s.address, healthPort))
	return ok
}

// fetched returns what is at the URL, or false if that is not answered well and soon.
func fetched(url string) ([]byte, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), publishWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, false
	}
	body, err := io.ReadAll(answer.Body)
	return body, errors.Join(err, answer.Body.Close()) == nil && answer.StatusCode == http.StatusOK
}

// init makes the streams on all servers, as soon as these have found each other.
func (q *quorum) init() {
	q.t.Helper()
	var out string
	made := q.within(settlesWithin, func() bool {
		var code int
		out, code = rookery(q.t, "bus", "init", "--replicas", "3", "--server", q.url)
		return code == 0
	})
	if !made {
		q.t.Fatalf("bus init: %s", out)
	}
}

// connect returns a bus on a connection that notices a dead server as soon as that of a real node.
func connect(t testing.TB, name, url string, options ...nats.Option) *bus.JetStream {
	t.Helper()
	const pingEvery, deafPings, again = 2 * time.Second, 2, 250 * time.Millisecond
	conn, err := nats.Connect(url, append(options, nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(again),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(deafPings))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b, err := bus.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The probe is a stream of the test's own, kept as the log is. It shows how long NATS takes no message for a stream.
const probeStream, probeSubject = "PROBE", "probe"

func (q *quorum) makeProbe() {
	q.t.Helper()
	answer, err := q.Conn.Request("$JS.API.STREAM.CREATE."+probeStream, fmt.Appendf(nil,
		`{"name":%q,"subjects":[%q],"retention":"limits","storage":"file","num_replicas":%d,"max_msgs":1000,"discard":"old"}`,
		probeStream, probeSubject, len(q.servers)), settlesWithin)
	if err != nil || strings.Contains(string(answer.Data), `"error"`) {
		q.t.Fatalf("the probe is not made: %v: %s", err, answer.Data)
	}
}

// leads returns the server that leads the stream, and makes it lead the probe as well.
func (q *quorum) leads(s *scene, stream string) (leads *busServer) {
	s.until("a server leads "+stream, func() bool {
		name := q.leaderOf(stream)
		at := slices.IndexFunc(q.servers, func(one *busServer) bool { return one.name == name })
		if at >= 0 {
			leads = q.servers[at]
		}
		return at >= 0
	})
	q.probes(s, leads)
	return leads
}

// probes makes the server lead the probe, if it does not. NATS lets no server lead a stream again for a while that it has cut off, so the probe is
// made again then until it is there.
func (q *quorum) probes(s *scene, one *busServer) {
	if q.leadsSoon(one, probeStream) {
		return
	}
	s.until(one.name+" leads a new "+probeStream, func() bool {
		if _, err := q.Conn.Request("$JS.API.STREAM.DELETE."+probeStream, nil, publishWithin); err != nil {
			return false
		}
		q.makeProbe()
		return q.leaderOf(probeStream) == one.name
	})
}

// leadsSoon asks NATS to let the server lead the stream, and reports whether it did.
func (q *quorum) leadsSoon(one *busServer, stream string) bool {
	return q.within(settlesWithin, func() bool {
		if q.leaderOf(stream) == one.name {
			return true
		}
		_, _ = q.Conn.Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, []byte(`{"placement":{"preferred":"`+one.name+`"}}`), publishWithin) // it is asked again
		return false
	})
}

// leaderOf returns the name of the server that leads the stream, or "".
func (q *quorum) leaderOf(stream string) string {
	answer, err := q.Conn.Request("$JS.API.STREAM.INFO."+stream, nil, publishWithin)
	var info struct{ Cluster struct{ Leader string } }
	if err != nil || json.Unmarshal(answer.Data, &info) != nil {
		return ""
	}
	return info.Cluster.Leader
}

// startSimulated runs a node with a simulated engine inside the test, and returns its engine.
func startSimulated(t testing.TB, b *bus.JetStream, i int, heartbeat time.Duration) *simulated.Engine {
	t.Helper()
	const ports, ranges = 1000, 40
	name := fmt.Sprintf("node-%d", i)
	engine := simulated.New(events.Capacity{CPU: 8, Memory: 16 << 30, Disk: 100 << 30})
	first := uint16(20_000 + i%ranges*ports)
	supplied, err := supply.For(b, name)
	if err != nil {
		t.Fatal(err)
	}
	agent := noderunner.New(noderunner.Config{
		Bus: b, Supply: supplied, Engine: engine, Name: name, Log: slog.New(slog.DiscardHandler), Heartbeat: heartbeat, Program: events.Program{Levels: events.OwnLevels},
		Facts: events.NodeFacts{
			Address: "127.0.0.1", Zone: "meadow", Labels: map[string]string{"engine": "simulated"},
			Ports: events.PortRange{First: first, Last: first + ports - 1},
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := agent.Run(ctx); err != nil {
			t.Errorf("%s failed: %v", name, err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return engine
}
