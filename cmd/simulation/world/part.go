package world

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"

	coordinator "github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	noderunner "github.com/rookery-project/rookery/node/runner"
	"github.com/rookery-project/rookery/node/simulated"
	"github.com/rookery-project/rookery/projections"
)

// part is a coordinator or a node: a sequence of processes under one name.
type part struct {
	world *World
	name  string
	run   func(ctx context.Context, c *client, name string) error
	// program is the version of the next process.
	program events.Program
	// times counts its processes.
	times  int
	client *client
	cancel context.CancelFunc
	ended  chan struct{}
	// clock is how far its wall clock is off.
	clock atomic.Int64
	// down counts the reasons why the world must not start it now.
	down int
}

func isCoordinator(name string) bool { return strings.HasPrefix(name, "coordinator") }

func (w *World) partNamed(name string) *part {
	for _, p := range w.parts {
		if p.name == name {
			return p
		}
	}
	return nil
}

// seeded returns a random source of its own for each name, so that the draws of one part change nothing for another.
func (w *World) seeded(name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(w.plan.Seed, h.Sum64()))
}

func (w *World) linkOf(name string) *link {
	if w.links[name] == nil {
		w.links[name] = &link{}
	}
	return w.links[name]
}

func (w *World) addCoordinator(name string) {
	p := &part{world: w, name: name, program: w.plan.begins()}
	p.run = func(ctx context.Context, c *client, _ string) error {
		return coordinator.New(coordinator.Config{
			Bus: c, Name: name, Program: c.program, Log: p.log(), Heartbeat: w.plan.Heartbeat, Now: p.now, Signers: w.signers(),
			SnapshotEvery: cmp.Or(w.plan.SnapshotEvery, snapshots.None), Meter: w.measures(), Tracer: w.tracer,
		}).Run(ctx)
	}
	w.parts = append(w.parts, p)
}

// signers are the keys of coordinators on a bus that knows its users. They are the same in every run.
func (w *World) signers() coordinator.Signers {
	if !w.server.Accounts {
		return nil
	}
	return coordinator.Signers{events.SignerOf([ed25519.SeedSize]byte{1})}
}

func (w *World) addNode(name string, number int) {
	h := &host{
		world: w, name: name, link: w.linkOf(name), draw: w.seeded("host " + name), pulled: map[string]bool{},
		facts: w.plan.facts(number),
	}
	h.engine = newEngine()
	w.hosts[name] = h
	p := &part{world: w, name: name, program: w.plan.begins()}
	p.run = func(ctx context.Context, c *client, incarnation string) error {
		return noderunner.New(noderunner.Config{
			Bus: c, Engine: &engine{host: h, client: c}, Name: name, Program: c.program, Facts: h.facts, Log: p.log(),
			Heartbeat: w.plan.Heartbeat, Incarnation: incarnation, Now: p.now,
			Meter: w.measures(), Tracer: w.tracer, SampleEvery: w.sampleEvery,
		}).Run(ctx)
	}
	w.parts = append(w.parts, p)
}

// measures returns the meter of the next process.
func (w *World) measures() metric.Meter {
	if w.meter == nil {
		return nil
	}
	return w.meter()
}

// facts returns what a node of the plan reports of itself. Every second node has a label that specs select.
func (p Plan) facts(number int) events.NodeFacts {
	const first = 20_000
	f := events.NodeFacts{
		Allows:  events.NodeAllows{EngineContext: true},
		Address: fmt.Sprintf("10.0.0.%d", number), Labels: map[string]string{},
		Ports:    events.PortRange{First: first, Last: uint16(first + p.Ports - 1)},
		Capacity: events.Capacity{CPU: float64(p.Cores), Memory: uint64(p.GiB) << 30},
	}
	if p.Zones > 0 {
		f.Zone = zoneName(number % p.Zones)
	}
	if number%2 == 0 {
		f.Labels["disk"] = "ssd"
	}
	if number%3 == 0 {
		f.Default = events.Resources{CPU: events.CPU(p.DefaultMiB), Memory: events.Size(p.DefaultMiB) << 20}
	}
	return f
}

func zoneName(i int) string { return Name("zone", i) }

func newEngine() *simulated.Engine {
	const cores, memory = 4, 8 << 30
	return simulated.New(events.Capacity{CPU: cores, Memory: memory})
}

func (p *part) log() *slog.Logger {
	if p.world.script == nil {
		return p.world.log
	}
	return slog.New(&scribe{w: p.world, name: p.name})
}

// now is the part's wall clock.
func (p *part) now() time.Time { return time.Now().Add(time.Duration(p.clock.Load())) }

func (p *part) alive() bool { return p.client != nil && !p.client.ended.Load() }

// start begins the part's next process.
func (p *part) start() {
	w := p.world
	p.times++
	name := fmt.Sprintf("%s#%d", p.name, p.times)
	if w.plan.Golden {
		name += "'" // a name that differs from all processes in the log
	}
	c := &client{world: w, number: len(w.clients), name: name, program: p.program, link: w.linkOf(p.name), draw: w.seeded(name)}
	w.clients = append(w.clients, c)
	ctx, cancel := context.WithCancel(context.Background())
	p.client, p.cancel, p.ended = c, cancel, make(chan struct{})
	ended := p.ended
	w.note("%s starts", name)
	go func() {
		defer close(ended)
		err := p.run(ctx, c, name)
		k := &call{client: c, point: end, key: "end", route: func(*call) { p.hasEnded(c, err) }}
		tell(k, nil)
	}()
}

// hasEnded follows the end of a process that was not killed.
func (p *part) hasEnded(c *client, err error) {
	w := p.world
	c.ended.Store(true)
	w.note("%s ended: %v", c.name, err)
	if err == nil && (c.asked || p.down > 0) {
		return
	}
	if !w.mayEnd(p, err) {
		w.breach("nothing wedges", "%s ended by itself: %v", c.name, err)
		return
	}
	const patience = 10 * time.Second // an operator notices the end, and starts the part again after this time
	w.at(time.Now().Add(patience), func() bool { return p.again() })
}

// kill ends the process as SIGKILL does: its calls have no effect any longer.
func (p *part) kill() {
	if p.client == nil {
		return
	}
	if !p.client.ended.Swap(true) {
		p.world.note("%s is killed", p.client.name)
	}
	p.client.frozen.Store(false)
	for _, k := range p.client.open {
		k.answer(outcome{err: errEnded})
	}
	p.client.open, p.client.held = nil, nil
	p.cancel()
}

// stop asks the process to end.
func (p *part) stop() {
	p.world.note("%s is asked to end", p.client.name)
	p.client.asked = true
	p.cancel()
}

func (p *part) wait() { <-p.ended }

// keepDown keeps the part from starting, until letUp is called as many times.
func (p *part) keepDown() { p.down++ }

// letUp takes back one keepDown.
func (p *part) letUp() {
	p.down = max(p.down-1, 0)
	p.world.revive(p)
}

// again starts the part if no process of it lives.
func (p *part) again() bool {
	if p.down > 0 || p.alive() || p.world.ending {
		return false
	}
	p.start()
	return true
}

// mayEnd reports whether a process may end by itself with this error.
func (w *World) mayEnd(p *part, err error) bool {
	if p.name == operatorName {
		return err == nil
	}
	if errors.Is(err, errEngine) || errors.Is(err, errNoEngine) {
		return true // a node asks its engine for facts first, and ends if that fails
	}
	if err == nil || !w.tampered {
		return false
	}
	for _, target := range []error{
		coordinator.ErrIdentity, bus.ErrNoStream, projections.ErrChain, projections.ErrGap,
		projections.ErrUnknown, events.ErrMalformed, noderunner.ErrOtherCluster,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
