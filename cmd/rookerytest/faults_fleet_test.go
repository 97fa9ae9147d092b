package rookerytest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node/podman/podmantest"
	"github.com/rookery-project/rookery/node/simulated"
)

const (
	// fleetHeartbeat is short, so that who is cut off is found out soon.
	fleetHeartbeat = time.Second
	// settlesWithin is how long a fleet may take to settle once a fault is healed. That takes 10 seconds on two cores beside all other tests,
	// and several times as long where others have most of the cores.
	settlesWithin = 4 * time.Minute
	// firstPort and lastPort are the range that each node offers.
	firstPort, lastPort = 20000, 20199
	// lookEvery is how often a fleet is looked at that is to come to something.
	lookEvery = 100 * time.Millisecond
)

// trial is a whole Rookery on machines with a network each: a NATS server, two coordinators, and three hosts with a Podman and
// a node each. All are processes of their own, and each link to the bus can be broken.
type trial struct {
	*rookerytest.Cluster
	t            *testing.T
	network      *network
	random       *rand.Rand
	path         string   // of the program
	env          []string // of its processes; that of the test where it is nil
	hosts        []*station
	coordinators []*seat
	engines      map[string]*simulated.Engine // of nodes beside the hosts
	bus          *service
	registry     *registry // nil before a fault needs one
	heard        *hearing
	log          *followed
	interrupted  context.Context

	commands []uint64          // those that were acknowledged, in order
	where    string            // of the services' specs, says on which nodes they may run; "" for all
	webScale int               // that was asked for last
	jobs     int               // that were begun
	turns    int               // images that were made
	ids      map[string]string // the hosts of all containers that were ever seen, by their ids
	known    map[string]bool   // what an audit has found before
}

// service is the NATS server, which can be started again from its disk.
type service struct {
	*process
	folder, host string
	port         int
}

// seat is a machine for a coordinator.
type seat struct {
	*host
	path    string   // of the program that it runs
	link    *wire    // to the bus; nil where it reaches the servers themselves
	reach   []string // the flags that say where the bus is, and as who it connects
	more    []string // further arguments
	process *process
}

// station is a host of the fleet.
type station struct {
	*host
	path   string   // of the program that its node runs
	link   *wire    // to the bus; nil where it reaches the servers themselves
	reach  []string // the flags that say where the bus is, and as who it connects
	engine *wire    // to the Podman
	client *http.Client
	disk   string // the folder that is its Podman's file system; "" where that has none of its own
}

// startTrial starts a fleet that ends with the test.
func startTrial(t *testing.T) *trial {
	t.Helper()
	f := newTrial(t)
	f.startWith(f.path)
	return f
}

// startWith starts the fleet with a program, and brings up the services that every fault meets.
func (f *trial) startWith(path string) {
	f.t.Helper()
	n := f.network
	f.path = path
	f.bus = &service{folder: f.t.TempDir(), host: n.address(1), port: freePorts(f.t)}
	f.startBus()
	f.meet("nats://" + f.bus.address())
	for _, name := range []string{"leader-1", "leader-2"} {
		link := f.newLink(n)
		f.seat(&seat{host: n.newMachine(name, ""), link: link, reach: []string{"--server", "nats://" + link.address()}})
	}
	for _, h := range f.hosts {
		h.link = f.newLink(n)
		h.path, h.reach = path, []string{"--server", "nats://" + h.link.address()}
		f.startNode(h)
	}
	f.found()
}

// newField makes a trial without machines, whose network ends with the test.
func newField(t *testing.T) *trial {
	t.Helper()
	f := &trial{t: t, random: seed(t), ids: map[string]string{}, known: map[string]bool{}, log: newFollowed(), interrupted: interrupts(t)}
	var err error
	if f.path, err = program(); err != nil {
		t.Fatal(err)
	}
	f.network = newNetwork(t, f.random)
	return f
}

// newTrial makes the machines of a fleet that ends with the test: three hosts with a Podman, where nothing of Rookery runs yet.
func newTrial(t *testing.T) *trial {
	t.Helper()
	f := newField(t)
	for _, name := range []string{"attic-1", "barn-1", "cellar-1"} {
		f.hosts = append(f.hosts, newStation(f.network, name, name == "cellar-1"))
	}
	uris := make([]string, 0, len(f.hosts))
	for _, h := range f.hosts {
		h.path = f.path
		uris = append(uris, h.uri)
	}
	podmantest.LoadWeb(t, uris...)
	return f
}

// meet connects the test to the bus, and listens to all events.
func (f *trial) meet(url string, options ...nats.Option) {
	f.t.Helper()
	f.Cluster = rookerytest.Start(f.t, rookerytest.WithServer(url, options...), rookerytest.WithoutCoordinator(), rookerytest.WithNodes(0))
	f.heard = listenToAll(f.t, f.Conn)
	f.t.Cleanup(f.log.stop)
}

// seat starts a coordinator that is one of the fleet.
func (f *trial) seat(c *seat) {
	c.path = f.path
	f.coordinators = append(f.coordinators, c)
	f.startCoordinator(c)
}

// interrupts returns a context that ends when a user interrupts the test. The test must then clean up, because what it has made does not
// end with its process.
func interrupts(t *testing.T) context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	t.Cleanup(stop)
	// The process that reads the output of the test may be gone before the test ends.
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	t.Cleanup(func() { signal.Stop(unread) })
	if deadline, ok := t.Deadline(); ok {
		const toEnd = 2 * time.Minute
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-toEnd))
		t.Cleanup(cancel)
	}
	return ctx
}

// newStation makes a host, whose Podman may have a small disk of its own.
func newStation(n *network, name string, small bool) *station {
	n.t.Helper()
	zone, _, _ := strings.Cut(name, "-")
	h := &station{host: n.newMachine(name, zone)}
	n.t.Cleanup(h.checkRules)
	if small {
		h.disk = smallDisk(n.t)
	}
	h.uri = podmantest.StartOn(n.t, h.namespace, h.disk)
	socket := h.folder() + "/podman.sock"
	h.engine = newWire(n.t, "unix", h.folder()+"/wire.sock", "unix", socket)
	h.client = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	return h
}

// smallDisk mounts a file system that is small until the test ends, and returns its folder.
func smallDisk(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "rkd") // a short path: sockets are below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(folder); err != nil {
			t.Error(err)
		}
	})
	image := filepath.Join(t.TempDir(), "disk")
	sh(t, "truncate", "--size", "256M", image)
	sh(t, "mkfs.ext4", "-q", image)
	mount(t, "-o", "loop", image, folder)
	return folder
}

// folder is where the host's Podman has its files.
func (h *station) folder() string { return filepath.Dir(strings.TrimPrefix(h.uri, "unix://")) }

func (s *service) address() string { return fmt.Sprintf("%s:%d", s.host, s.port) }

// newLink makes a link to the bus.
func (f *trial) newLink(n *network) *wire {
	return newWire(f.t, "tcp", net.JoinHostPort(n.address(1), "0"), "tcp", f.bus.address())
}

func (f *trial) startBus() {
	f.bus.process, _ = startServerAt(f.t, f.bus.folder, f.bus.host, f.bus.port)
}

// launch starts the program as a process on the host, whose network it shares.
func (f *trial) launch(h *host, path string, words ...string) *process {
	p := newProcess(f.t, exec.Command("nsenter", append([]string{"--net=" + h.namespace, path}, words...)...)) //nolint:noctx // ended by the test
	p.cmd.Stdout, p.cmd.Env = p.output, f.env
	p.start()
	return p
}

func (f *trial) startCoordinator(c *seat) {
	c.process = f.launch(c.host, c.path, slices.Concat([]string{
		"coordinator", "--name", c.name, "--heartbeat", fleetHeartbeat.String(), "--metrics", metricsAt(c.host),
	}, c.reach, c.more)...)
}

// startNode starts the host's node, as a unit of the system would.
func (f *trial) startNode(h *station) {
	h.node = f.launch(h.host, h.path, append([]string{
		"node", "--podman", "unix://" + h.engine.address(),
		"--name", h.name, "--zone", h.zone, "--label", "host=" + h.name, "--label", "engine=podman", "--address", h.address,
		"--ports", fmt.Sprintf("%d-%d", firstPort, lastPort), "--heartbeat", fleetHeartbeat.String(),
		"--metrics", metricsAt(h.host),
	}, h.reach...)...)
}

// found brings up the services that run throughout.
func (f *trial) found() {
	f.t.Helper()
	f.Until("all nodes have joined", func() bool { return f.State().Nodes == len(f.hosts)+len(f.engines) })
	putConfig(f.t, f.Bus(), "demo.greeting", "hello")
	const quick = `"stop_grace":"1s","restart":{"delay":"100ms","max_delay":"1s"}`
	f.webScale = 4
	var asked []uint64
	for name, fields := range map[string]string{
		"demo/web":    fmt.Sprintf(`"scale":%d,"ports":[{"name":"http","port":8080}]`, f.webScale),
		"demo/data":   `"scale":2,"volumes":[{"name":"data","path":"/data"}],"configs":[{"name":"greeting","path":"/etc/greeting"}]`,
		"demo/single": `"scale":1,"ports":[{"name":"http","port":8080}]`,
	} {
		spec := fmt.Sprintf(`{"image":%q,%s,%s%s}`, podmantest.WebReference, quick, fields, f.where)
		asked = append(asked, f.Publish(name, "ensure", spec))
	}
	for _, sequence := range asked {
		if outcome := f.Outcome(sequence); outcome.Outcome != "succeeded" {
			f.t.Fatalf("a service that runs throughout ended as %s: %+v", outcome.Outcome, outcome)
		}
	}
}

// hearing collects all events that are told.
type hearing struct {
	mu  sync.Mutex
	all []*nats.Msg
}

func listenToAll(t *testing.T, conn *nats.Conn) *hearing {
	t.Helper()
	h := &hearing{}
	_, err := conn.Subscribe(events.EventRoot+".>", func(m *nats.Msg) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.all = append(h.all, m)
	})
	if err = errors.Join(err, conn.Flush()); err != nil {
		t.Fatal(err)
	}
	return h
}

// after returns the events from the index on, and the index after them.
func (h *hearing) after(i int) ([]*nats.Msg, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[i:len(h.all):len(h.all)], len(h.all)
}

// command publishes a command. It reports whether the server acknowledged that: Rookery promises nothing for a command that was not
// acknowledged.
func (f *trial) command(service, verb, body string) (uint64, bool) {
	id, err := events.ParseServiceID(service)
	if err != nil {
		f.t.Fatal(err)
	}
	const patience = 3 * time.Second
	ctx, cancel := context.WithTimeout(f.interrupted, patience)
	defer cancel()
	sequence, err := f.Bus().Publish(ctx, events.Message{Subject: f.Bus().CommandSubject(events.CommandSubject(id, verb)), Body: []byte(body)})
	if err != nil {
		return 0, false
	}
	f.commands = append(f.commands, sequence)
	return sequence, true
}

// work publishes the commands of everyday work: it scales a service, restarts another and runs a job. These supersede earlier commands that
// are still under way.
func (f *trial) work() {
	const least, span = 3, 3
	f.webScale = least + (f.webScale-least+1)%span
	f.command("demo/web", "scale", scaleBody(f.webScale))
	f.jobs++
	f.command(fmt.Sprintf("demo/job-%d", f.jobs), "ensure", fmt.Sprintf(
		`{"image":%q,"args":["-exit-after","200ms"],"mode":"job","job":{"completions":4,"parallelism":4},"restart":{"delay":"100ms"}%s}`,
		podmantest.WebReference, f.where))
	if f.jobs > 1 {
		f.command(fmt.Sprintf("demo/job-%d", f.jobs-1), "drop", `{}`)
	}
}

// leader returns the coordinator that leads, as the log says, and the standby.
func (f *trial) leader() (leads, standsBy *seat) {
	name := f.leads()
	for _, c := range f.coordinators {
		if c.name == name {
			leads = c
		} else {
			standsBy = c
		}
	}
	if leads == nil {
		f.t.Fatalf("%q leads, which this test has not started", name)
	}
	return leads, standsBy
}

// leads returns the name of the coordinator that has written the log last.
func (f *trial) leads() string {
	if err := f.log.follow(f.interrupted, f.Bus()); err != nil {
		f.t.Logf("following the log: %v", err)
	}
	return f.log.fold.Cluster.Leader
}
