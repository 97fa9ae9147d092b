package world

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/rookery-project/rookery/cmd/simulation/checker"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/node"
)

// World is one run under way. Only the goroutine of Run uses it. Parts reach it only by calls.
type World struct {
	plan     Plan
	began    time.Time
	server   *memory.Bus
	schedule schedule
	calls    calls
	draw     *rand.Rand
	checker  *checker.Checker
	log      *slog.Logger
	// states holds the states of the streams that the readers know.
	states map[bus.Stream]bus.State
	// meter returns the meter of one process, and tracer begins the spans of all; nil for runs without metrics or traces. sampleEvery is how
	// often nodes measure the use of instances; 0 for never.
	meter       func() metric.Meter
	tracer      trace.Tracer
	sampleEvery time.Duration
	told        bus.Subscription

	clients []*client
	readers []*reader
	hosts   map[string]*host
	links   map[string]*link
	parts   []*part
	images  map[string]behaviour
	full    bool
	// leaderless counts, by store, the faults that leave it without a leader.
	leaderless map[string]int
	// anyLeaderless is for processes to read.
	anyLeaderless atomic.Bool
	backups       []memory.Backup
	person        *client
	// ordersRead is called before each read of orders; nil while no fault waits for one.
	ordersRead func(*client)
	// ongoing holds the functions that end the current faults.
	ongoing []func()
	healing bool
	// ending says that the run is over: breaches count no longer while parts end.
	ending bool
	// tampered says that an operator or a disk has changed a stream: processes may end because of it.
	tampered bool
	// spoiled holds the snapshots of the fold that a fault has changed, owners the processes of services with a topology, and configs the
	// configs that exist.
	spoiled map[string]bool
	owners  map[process]*owner
	configs map[string]bool

	result Result
	digest uint64
	script *strings.Builder
}

// Result is the result of a run.
type Result struct {
	Seed uint64
	// Simulated is how long clients sent commands and faults occurred, in simulated time. It leaves out the time after that, in which the
	// cluster converges.
	Simulated time.Duration
	// Steps counts the calls to the bus and to engines, and the messages sent.
	Steps    int
	Commands int
	Faults   map[Kind]int
	// Log is the hash of the whole log, and Digest a hash of all steps in their order.
	Log    string
	Digest uint64
	Events uint64
	Rounds uint64
	// Broken holds the broken promises: the run ends at the first.
	Broken []Breach
	// Script is the transcript, if the caller asked for one.
	Script string
}

// Breach is a broken promise.
type Breach struct {
	// Promise is the one that was broken, as in "P1"; What says how.
	Promise string
	What    string
	At      time.Duration
}

// String returns the breach as a line of the report.
func (b Breach) String() string {
	return fmt.Sprintf("%s, at %s: %s", b.Promise, b.At.Round(time.Millisecond), b.What)
}

// Run runs the plan in a bubble of its own.
func Run(t *testing.T, p Plan) Result { return run(t, p, nil) }

// Script runs the plan and writes the transcript of all that happens.
func Script(t *testing.T, p Plan) Result { return run(t, p, &strings.Builder{}) }

func run(t *testing.T, p Plan, script *strings.Builder) (result Result) {
	synctest.Test(t, func(*testing.T) {
		w := newWorld(p, script)
		w.live()
		result = w.result
		if script != nil {
			result.Script = script.String()
		}
	})
	return result
}

func newWorld(p Plan, script *strings.Builder) *World {
	w := &World{
		plan: p, began: time.Now(), server: memory.New(time.Now), draw: rand.New(rand.NewPCG(p.Seed, 2)),
		hosts: map[string]*host{}, links: map[string]*link{}, leaderless: map[string]int{}, images: map[string]behaviour{},
		states: map[bus.Stream]bus.State{}, spoiled: map[string]bool{}, owners: map[process]*owner{}, configs: map[string]bool{},
		result: Result{Seed: p.Seed, Faults: map[Kind]int{}}, script: script,
	}
	w.server.Accounts = p.Accounts
	w.calls.arrived = make(chan struct{}, 1)
	w.log = slog.New(slog.DiscardHandler)
	if script != nil {
		w.log = slog.New(&scribe{w: w})
	}
	w.checker = checker.New(checker.Outside{
		Server: w.server, Now: time.Now, Engines: w.engines, Trouble: w.trouble, Usage: w.usage, Heartbeat: p.Heartbeat,
		Report: func(b checker.Breach) { w.breach(b.Promise, "%s", b.What) },
	})
	var err error
	if w.told, err = w.server.Subscribe(">"); err != nil {
		panic(err)
	}
	w.person = &client{world: w, name: "person", link: w.linkOf("person"), draw: w.seeded("person")}
	w.clients = append(w.clients, w.person)
	if p.Golden {
		w.inherit()
	}
	for i := range p.Coordinators {
		w.addCoordinator(coordinatorName(i))
	}
	for i := range w.plan.Nodes {
		w.addNode(nodeName(i), i)
	}
	return w
}

// live runs the plan, heals everything when the time of the plan is up, and checks that the cluster converges.
func (w *World) live() {
	for _, p := range w.parts {
		p.start()
	}
	w.backUp()
	for _, a := range w.plan.Actions {
		if a.At < w.plan.Lasts {
			w.at(w.began.Add(a.At), func() bool { return w.act(a) })
		}
	}
	w.until(w.began.Add(w.plan.Lasts), w.broken)
	w.result.Simulated = w.since()
	w.heal()
	w.converge()
	w.finish()
}

// backUp backs up the log from time to time, if the plan restores one.
func (w *World) backUp() {
	if !slices.ContainsFunc(w.plan.Actions, func(a Action) bool { return a.Kind == LogRestored }) {
		return
	}
	const backups = 20
	for i := range backups {
		w.at(w.began.Add(time.Duration(i)*w.plan.Lasts/backups), func() bool {
			w.backups = append(w.backups, w.server.Backup(bus.Log))
			return false
		})
	}
}

func (w *World) broken() bool { return len(w.result.Broken) > 0 }

func (w *World) at(t time.Time, do func() bool) { w.schedule.at(t, do) }

func (w *World) since() time.Duration { return time.Since(w.began) }

// until runs the world to a time, or until over reports true.
func (w *World) until(end time.Time, over func() bool) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !over() {
		synctest.Wait()
		for _, k := range w.calls.take() {
			k.begin()
		}
		now := time.Now()
		woke := false
		for !woke && !over() {
			h := w.schedule.due(now)
			if h == nil {
				break
			}
			woke = h.do()
		}
		if woke {
			continue
		}
		if !now.Before(end) {
			return
		}
		next := end
		if len(w.schedule.waiting) > 0 && w.schedule.waiting[0].at.Before(end) {
			next = w.schedule.waiting[0].at
		}
		timer.Reset(next.Sub(now))
		select {
		case <-w.calls.arrived:
		case <-timer.C:
		}
	}
}

// finish ends every part and fills in the result.
func (w *World) finish() {
	w.ending = true
	for _, p := range w.parts {
		p.kill()
	}
	for _, p := range w.parts {
		p.wait()
	}
	w.result.Log, w.result.Digest = w.checker.Log().Chain.String(), w.digest
	w.result.Events, w.result.Rounds = w.checker.Log().Last, w.checker.Log().Rounds
}

// breach records a broken promise.
func (w *World) breach(promise, format string, args ...any) {
	if w.ending {
		return
	}
	b := Breach{Promise: promise, What: fmt.Sprintf(format, args...), At: w.since()}
	w.note("BROKEN: %s: %s", b.Promise, b.What)
	w.result.Broken = append(w.result.Broken, b)
}

// did counts a call and adds it to the digest of the run.
func (w *World) did(k *call) {
	w.result.Steps++
	if k.point == Prepare || k.point == Start || k.point == Stop || k.point == Remove {
		w.note("%s has its engine %s %s", k.client.name, k.point, k.key)
	}
	d := (w.digest ^ uint64(w.since())) * digestPrime
	for _, text := range [...]string{k.client.name, string(k.point), k.key} {
		for i := range len(text) {
			d = (d ^ uint64(text[i])) * digestPrime
		}
	}
	w.digest = d
}

// digestPrime is that of the hash FNV-1a.
const digestPrime = 1099511628211

// appends stores a batch, as far as the faults of the server allow.
func (w *World) appends(c *client, stream bus.Stream, after uint64, batch []events.Message) (uint64, error) {
	if w.full && stream == bus.Log {
		w.checker.TriedFull(c.name, c.refused)
		return 0, fmt.Errorf("append to %s: %w", stream, bus.ErrFull)
	}
	if c.tear && stream == bus.Log && len(batch) > 1 && w.checker.Log().Last == after {
		c.tear = false
		w.checker.Disturbed()
		part := batch[:1+w.draw.IntN(len(batch)-1)]
		w.server.Tear(stream, part)
		w.stored(c, stream, part, after)
		return 0, fmt.Errorf("append to %s: %w", stream, bus.ErrUnknown)
	}
	last, err := w.server.Append(context.Background(), stream, after, batch)
	if err != nil {
		w.note("%s appends %d to %s after %d: refused: %v", c.name, len(batch), stream, after, err)
		return 0, err
	}
	w.stored(c, stream, batch, after)
	return last, nil
}

// stored passes a stored batch to the checker.
func (w *World) stored(c *client, stream bus.Stream, batch []events.Message, after uint64) {
	w.spread()
	for i, m := range batch {
		w.note("%s stored %d in %s: %s %s", c.name, after+uint64(i)+1, stream, m.Subject, m.Body)
	}
	if stream == bus.Log {
		w.checker.Writes(c.name, c.program.Levels)
	}
	w.checker.Stored(stream, batch)
}

// spread delivers the server's new messages to the listeners and readers of all clients.
func (w *World) spread() {
	for {
		select {
		case m := <-w.told.Messages():
			for _, c := range w.clients {
				if !c.ended.Load() {
					c.hear(m)
				}
			}
			continue
		default:
		}
		break
	}
	for _, s := range bus.Streams {
		if state, _ := w.server.State(context.Background(), s); state != w.states[s] {
			w.states[s] = state
			w.stir(s)
		}
	}
}

// note writes a line of the transcript.
func (w *World) note(format string, args ...any) {
	if w.script != nil {
		fmt.Fprintf(w.script, "%-14s ", w.since().Round(time.Microsecond))
		fmt.Fprintf(w.script, format, args...)
		w.script.WriteByte('\n')
	}
}

// scribe writes what the parts log into the transcript.
type scribe struct {
	w    *World
	name string
}

// Enabled implements slog.Handler.
func (*scribe) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (s *scribe) Handle(_ context.Context, r slog.Record) error {
	var text strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&text, " %s=%q", a.Key, a.Value.String())
		return true
	})
	c := s.w.partNamed(s.name)
	if c != nil {
		line := r.Message + text.String()
		k := &call{client: c.client, point: Tell, key: "log " + line, route: func(*call) { s.w.note("%s: %s", s.name, line) }}
		tell(k, nil)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (s *scribe) WithAttrs([]slog.Attr) slog.Handler { return s }

// WithGroup implements slog.Handler.
func (s *scribe) WithGroup(string) slog.Handler { return s }

// engines returns what the engine of each node has, for the checker.
func (w *World) engines() []checker.Engine {
	all := make([]checker.Engine, 0, len(w.hosts))
	for _, name := range slices.Sorted(maps.Keys(w.hosts)) {
		h := w.hosts[name]
		has := h.engine.Containers()
		slices.SortFunc(has, func(a, b node.Container) int { return a.Instance.Compare(b.Instance) })
		e := checker.Engine{Node: name, Containers: has, Guarded: map[string]bool{}, Preparing: h.preparing}
		for _, c := range has {
			e.Guarded[c.Handle] = h.guards(c)
		}
		if p := w.partNamed(name); p.alive() {
			e.Process = p.client.name
		}
		all = append(all, e)
	}
	return all
}

// usage returns what a container takes of its host's disk.
func (w *World) usage(name string, c node.Container) node.Usage {
	u, _ := w.hosts[name].engine.Usage(context.Background(), c, "")
	return u
}

// trouble returns how many faults there were so far, and whether anything is broken now.
func (w *World) trouble() (faults int, broken bool) {
	for _, n := range w.result.Faults {
		faults += n
	}
	return faults, w.troubled()
}

// troubled reports whether anything is broken now.
func (w *World) troubled() bool {
	if w.full {
		return true
	}
	for _, n := range w.leaderless {
		if n > 0 {
			return true
		}
	}
	for _, l := range w.links {
		if l.cut || l.slow > 0 || l.leaky > 0 || l.stale != nil {
			return true
		}
	}
	for _, p := range w.parts {
		if p.name != operatorName && (!p.alive() || p.client.frozen.Load() || p.client.stalled || p.clock.Load() != 0) {
			return true
		}
	}
	for _, b := range w.images {
		if b == sick {
			return true
		}
	}
	for _, h := range w.hosts {
		if h.deaf || len(h.troubles) > 0 {
			return true
		}
	}
	return false
}
