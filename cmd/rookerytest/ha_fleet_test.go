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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
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
	reach   []string         // the flags with which commands reach the servers, as an operator
	clients []*bus.JetStream // one of each server
	probers []*bus.JetStream // one of each server, which may write to the probe
	shared  scalings         // what the clients have done to the shared services
	objects int              // that it has stored to damage
	// weights is the resident memory of each process after each experiment, in MiB.
	weights map[string][]float64
}

// busServer is one of the NATS servers. The first has a small disk of its own.
type busServer struct {
	*host
	folder  string // what it stores
	config  string // its configuration, in the folder in which it starts
	process *process
}

// newQuorum starts three servers on machines of the trial, and makes the streams on all of them.
func newQuorum(f *trial) *quorum {
	f.t.Helper()
	q := newServers(f, serverCount)
	q.init()
	return q
}

// newServers starts servers on machines of the trial, to which all may connect.
func newServers(f *trial, count int) *quorum {
	f.t.Helper()
	q := newMachines(f, count)
	var urls, routes []string
	for _, s := range q.servers {
		urls = append(urls, fmt.Sprintf("nats://%s:%d", s.address, clientPort))
		routes = append(routes, fmt.Sprintf("nats://%s:%d", s.address, routePort))
	}
	q.url = strings.Join(urls, ",")
	q.reach = []string{"--server", q.url}
	for _, s := range q.servers {
		s.configure(routes)
		q.startServer(s)
	}
	return q
}

// newMachines makes machines for servers.
func newMachines(f *trial, count int) *quorum {
	f.t.Helper()
	q := &quorum{trial: f, weights: map[string][]float64{}}
	for i := range count {
		s := &busServer{host: q.network.newMachine(fmt.Sprintf("server-%d", i+1), ""), folder: f.t.TempDir()}
		if i == 0 {
			s.folder = smallDisk(f.t)
		}
		q.servers = append(q.servers, s)
	}
	return q
}

// newSecureQuorum starts three servers that know who connects, and makes the streams on all of them.
func newSecureQuorum(f *trial) (*quorum, *secured) {
	f.t.Helper()
	q := newMachines(f, serverCount)
	keys := &secured{TB: f.t, folder: filepath.Join(f.t.TempDir(), "keys"), port: secure.ClientPort}
	var urls []string
	words := []string{"secure", "init"}
	for _, s := range q.servers {
		words = append(words, s.name+"="+s.address)
		urls = append(urls, secure.Server{Name: s.name, Address: s.address}.ClientURL())
	}
	keys.does(words...)
	q.url = strings.Join(urls, ",")
	keys.url, q.reach = q.url, []string{"--context", keys.context(secure.Operator)}
	for _, s := range q.servers {
		s.config = filepath.Join(keys.folder, "servers", s.name, "nats.conf")
		s.adapt()
		q.startServer(s)
	}
	q.init()
	return q, keys
}

// adapt gives a configuration of rookery secure init the test's own folder and port of health.
func (s *busServer) adapt() {
	s.t.Helper()
	text, err := os.ReadFile(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	const usual = `store_dir: "data"`
	if !strings.Contains(string(text), usual) {
		s.t.Fatalf("%s has no %s", s.config, usual)
	}
	stores := fmt.Sprintf("store_dir: %q\n  max_file_store: 10GB", s.folder)
	s.configured(strings.Replace(string(text), usual, stores, 1) + s.whole())
}

// startQuorum starts a fleet that ends with the test, on three servers that know who connects.
func startQuorum(t *testing.T) *quorum {
	t.Helper()
	q, keys := newSecureQuorum(newTrial(t))
	q.meet(q.url, keys.options(secure.Coordinator)...)
	for i, s := range q.servers {
		url := secure.Server{Address: s.address}.ClientURL()
		for user, all := range map[string]*[]*bus.JetStream{secure.Operator: &q.clients, secure.Coordinator: &q.probers} {
			*all = append(*all, connect(q.t, fmt.Sprintf("client-%d", i+1), url, append(keys.options(user), nats.IgnoreDiscoveredServers())...))
		}
	}
	q.makeProbe()
	for i := range serverCount {
		q.seat(&seat{host: q.network.newMachine(fmt.Sprintf("leader-%d", i+1), ""), reach: keys.leads()})
	}
	q.joins(keys)
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

// joins lets all nodes join with a token, and starts them: those of the hosts, and those whose engines are simulated.
func (q *quorum) joins(keys *secured) {
	q.t.Helper()
	text := keys.token("--uses", strconv.Itoa(len(q.hosts)+simulatedNodes))
	for _, h := range q.hosts {
		edge := keys.applicant(h.name)
		edge.joins(0, "", text)
		h.reach = []string{"--context", edge.file(h.name + ".json")}
		q.startNode(h)
	}
	token, err := secure.ParseToken(text)
	if err != nil {
		q.t.Fatal(err)
	}
	q.engines = map[string]*simulated.Engine{}
	for i := range simulatedNodes {
		name := fmt.Sprintf("node-%d", i)
		options, err := keys.asksToJoin(name, token)
		if err != nil {
			q.t.Fatal(err)
		}
		q.engines[name] = startSimulated(q.t, connect(q.t, name, q.url, options...), i, fleetHeartbeat)
	}
}

func simulatedService(i int) string { return fmt.Sprintf("sim/s%d", i) }

// configure writes the configuration of a server to which all may connect. It writes each message to the disk before it acknowledges it.
func (s *busServer) configure(routes []string) {
	s.t.Helper()
	s.config = filepath.Join(s.t.TempDir(), "nats.conf")
	s.configured(fmt.Sprintf(`server_name: %s
listen: "%s:%d"
jetstream {store_dir: %q, sync_interval: always, max_file_store: 10GB}
cluster {name: rookery, listen: "%[2]s:%[5]d", routes: [%[6]s]}
`, s.name, s.address, clientPort, s.folder, routePort, strings.Join(routes, ", ")) + s.whole())
}

// whole is what each configuration has beside, so that the test can ask for the server's health, and let it leave.
func (s *busServer) whole() string {
	return fmt.Sprintf(`
http: "%s:%d"
lame_duck_grace_period: 1s
lame_duck_duration: 30s
`, s.address, healthPort)
}

func (s *busServer) configured(text string) {
	s.t.Helper()
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
	in := []string{"--chdir", filepath.Dir(s.config)}
	s.process = q.launch(s.host, "/usr/bin/env", slices.Concat(in, behind, []string{path, "--config", s.config})...)
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
		out, code = rookery(q.t, append([]string{"bus", "init", "--replicas", "3"}, q.reach...)...)
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
