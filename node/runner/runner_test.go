package runner_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/runner"
)

const (
	cluster = "log-1"
	// good and hanging are images: a container of the one is made at once, that of the other never. Hooks have names like that, and
	// failing is one that says that it has failed.
	good    = "good"
	hanging = "hanging"
	failing = "failing"
	// asked is one with a health check, which hangs as long as the engine is told so.
	asked = "asked"
)

// engine has a container for each instance, and hangs where it is told to.
type engine struct {
	mu         sync.Mutex
	containers map[events.InstanceID]*node.Container
	hint       func(events.InstanceID)
	crashes    int  // how many starts are still to crash; for tests of one container
	mute       bool // health checks hang
	hangs      bool // lists are not answered, and commands not run
	refuses    bool // nothing is answered but with an error, and hints end
	usage      node.Usage
	booting    time.Duration       // that it takes to say what it is
	prints     string              // every container
	slow       time.Duration       // that it takes to read what one has printed
	most, now  int                 // containers that were and are being made at once
	configs    map[uint32][]string // that containers were made with, by ordinal
	done       []string            // the hooks and stops, in order
	filled     []string            // volumes, in order
	guards     []time.Time         // when the node was heard, of each call that guards something
	guardErr   error               // what comes of these
}

func (e *engine) Facts(ctx context.Context) (node.Facts, error) {
	select {
	case <-time.After(e.booting):
	case <-ctx.Done():
		return node.Facts{}, ctx.Err()
	}
	return node.Facts{Engine: events.EngineFacts{Engine: "test"}}, nil
}

func (e *engine) Tidy(context.Context, node.Owner) error { return nil }

// answers returns how a call ends that the engine does not answer.
func (e *engine) answers(ctx context.Context) error {
	e.mu.Lock()
	hangs, refuses := e.hangs, e.refuses
	e.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if refuses {
		return errFailing
	}
	return nil
}

func (e *engine) ail(hangs, refuses bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hangs, e.refuses = hangs, refuses
}

func (e *engine) Stats(context.Context) (map[string]node.Stats, error) { return nil, nil }

func (e *engine) List(ctx context.Context, _ node.Owner) ([]node.Container, error) {
	if err := e.answers(ctx); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []node.Container
	for _, c := range e.containers {
		all = append(all, *c)
	}
	return all, nil
}

func (e *engine) Inspect(ctx context.Context, _ node.Owner, id events.InstanceID) (*node.Container, error) {
	if err := e.answers(ctx); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.containers[id]; c != nil {
		found := *c
		return &found, nil
	}
	return nil, nil
}

// Prepare of what hangs has had its effect by the time that it is interrupted.
func (e *engine) Prepare(ctx context.Context, p node.Plan) (node.Container, error) {
	if err := e.fill(ctx, p); err != nil {
		return node.Container{}, err
	}
	c := node.Container{Handle: p.Name(), Instance: p.Instance, Attempt: p.Attempt, BeforeStop: p.BeforeStop()}
	e.mu.Lock()
	e.now++
	e.most = max(e.most, e.now)
	e.containers[p.Instance] = &c
	for _, name := range slices.Sorted(maps.Keys(p.Configs)) {
		e.configs[p.Instance.Ordinal] = append(e.configs[p.Instance.Ordinal], name+"="+string(p.Configs[name]))
	}
	e.mu.Unlock()
	if p.Order.Spec.Image == hanging {
		<-ctx.Done()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now--
	return c, ctx.Err()
}

func (e *engine) set(c node.Container, state node.State) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	changed := c
	changed.State = state
	e.containers[c.Instance] = &changed
	return nil
}

// Start of what crashes returns only after its end was hinted at.
func (e *engine) Start(_ context.Context, c node.Container) error {
	if e.crashes == 0 {
		return e.set(c, node.Running)
	}
	e.crashes--
	c.ExitCode = 3
	err := e.set(c, node.Exited)
	e.hint(c.Instance)
	return err
}

func (e *engine) Guard(_ context.Context, heard time.Time, guarded []node.Guarded) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(guarded) > 0 {
		e.guards = append(e.guards, heard)
	}
	return e.guardErr
}

// guarded returns when the node was heard, of each call that guarded something.
func (e *engine) guarded() []time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.guards)
}

func (e *engine) Stop(_ context.Context, c node.Container, grace time.Duration) error {
	e.did(fmt.Sprintf("stop with %s", grace))
	return e.set(c, node.Exited)
}

func (e *engine) Remove(_ context.Context, c node.Container) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.containers, c.Instance)
	return nil
}

func (e *engine) Check(ctx context.Context, _ node.Container, _ events.Health, _ string) error {
	if err := e.answers(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	mute := e.mute
	e.mu.Unlock()
	if mute {
		<-ctx.Done()
	}
	return ctx.Err()
}

func (e *engine) Tell(context.Context, node.Container, string, []byte) error { return nil }

// Ask of a hook that hangs does not come back before its time is up, and of one that fails says so.
func (e *engine) Ask(ctx context.Context, _ node.Container, hook events.Hook, asked node.Asked, _ string) error {
	e.did(fmt.Sprintf("%s %s", hook.Exec[0], asked.Variables()))
	switch hook.Exec[0] {
	case hanging:
		<-ctx.Done()
	case failing:
		return errFailing
	}
	return ctx.Err()
}

func (e *engine) did(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done = append(e.done, what)
}

func (e *engine) Export(_ context.Context, _ node.Container, path string) (io.ReadCloser, error) {
	if path == failing {
		return nil, errFailing
	}
	return http.NoBody, nil
}

func (e *engine) Usage(context.Context, node.Container, string) (node.Usage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.usage, nil
}

// Logs and Execute are the sessions', which the loop knows nothing of.
func (e *engine) Logs(context.Context, node.Container, events.LogsRequest, func(events.LogLine) error) error {
	return errFailing
}

func (e *engine) Execute(context.Context, node.Container, node.Execution) (int32, error) {
	return 0, errFailing
}

func (e *engine) Output(ctx context.Context, c node.Container) ([]byte, error) {
	if e.slow > 0 {
		select {
		case <-time.After(e.slow):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.containers[c.Instance] == nil {
		return nil, errors.New("no such container")
	}
	return []byte(e.prints), nil
}

func (e *engine) Watch(ctx context.Context, _ node.Owner, ready func(), hint func(events.InstanceID)) error {
	e.hint = hint
	ready()
	<-ctx.Done()
	return nil
}

// running returns the ordinals of the containers that run, and of those that only stand.
func (e *engine) running() (running, standing []uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, c := range e.containers {
		if c.State == node.Running {
			running = append(running, id.Ordinal)
		} else {
			standing = append(standing, id.Ordinal)
		}
	}
	slices.Sort(running)
	slices.Sort(standing)
	return running, standing
}

// world is a node with its engine and a bus on which the test is the leader. The node hears live what the test tells.
type world struct {
	*memory.Bus
	t       *testing.T
	began   time.Time
	engine  *engine
	live    chan events.Message
	counter atomic.Uint64
	stream  string // the identity of the stream of orders
	// slow makes the reading of all orders take a second. It does not contain orders that are stored meanwhile.
	slow bool
	// away makes the bus unreachable: each publication and each reading of a bucket or object fails.
	away atomic.Bool
	// unheard makes each heartbeat fail.
	unheard atomic.Bool
	// epoch is the node epoch, 1 where it is zero, and machine the first one of the node's machine.
	epoch, machine uint64
	// heartbeat is how often the node sends one; an hour where it is zero.
	heartbeat time.Duration
	// level is that of the cluster. The node works at level 0 alone.
	level atomic.Uint32
	// larger is how much larger the values of buckets are than what was put.
	larger atomic.Int64
	// needed are the images that the node needed, one list for each call of prune. pruneErr is what prune returns.
	needed   [][]string
	pruneErr error
	// log is what the node has logged.
	log strings.Builder
}

func (w *world) Publish(ctx context.Context, m events.Message) (uint64, error) {
	if w.away.Load() {
		return 0, bus.ErrNoAnswer
	}
	return w.Bus.Publish(ctx, m)
}

func (w *world) Bucket(ctx context.Context, name string) (bus.Bucket, error) {
	if w.away.Load() {
		return nil, bus.ErrNoAnswer
	}
	k, err := w.Bus.Bucket(ctx, name)
	return &bucket{k, w}, err
}

func (w *world) Objects(name string) bus.Objects { return &objects{w.Bus.Objects(name), w} }

type objects struct {
	bus.Objects
	world *world
}

func (o *objects) Stat(ctx context.Context, name string) (bus.Object, error) {
	if o.world.away.Load() {
		return bus.Object{}, bus.ErrNoAnswer
	}
	return o.Objects.Stat(ctx, name)
}

type bucket struct {
	bus.Bucket
	world *world
}

func (k *bucket) Get(ctx context.Context, key string) (bus.Entry, error) {
	e, err := k.Bucket.Get(ctx, key)
	e.Value = append(e.Value, make([]byte, k.world.larger.Load())...)
	return e, err
}

func (w *world) Messages() <-chan events.Message { return w.live }
func (w *world) Stop()                           {}

func (w *world) Subscribe(string) (bus.Subscription, error) { return w, nil }

func (w *world) Latest(ctx context.Context, s bus.Stream, filter string) ([]events.Message, error) {
	all, err := w.Bus.Latest(ctx, s, filter)
	if w.slow {
		<-time.After(time.Second)
	}
	return all, err
}

func start(t *testing.T) *world {
	w := newWorld(t)
	w.run()
	return w
}

func newWorld(t *testing.T) *world {
	return &world{
		Bus: memory.New(time.Now), t: t, began: time.Now(), engine: &engine{containers: map[events.InstanceID]*node.Container{}, configs: map[uint32][]string{}},
		live: make(chan events.Message),
	}
}

// run begins the node, which ends with the test.
func (w *world) run() { w.t.Cleanup(w.begin()) }

// begin begins the node, and returns what ends it.
func (w *world) begin() (end func()) {
	w.t.Helper()
	stop, err := w.Answer(events.HeartbeatSubject("node-0"), func(events.Message) (events.Message, error) {
		if w.unheard.Load() {
			return events.Message{}, errors.New("there is no leader")
		}
		return events.Encode("answer", events.HeartbeatAnswer{Log: cluster, Level: events.Level(w.level.Load()), Epoch: cmp.Or(w.epoch, 1), Machine: w.machine, Orders: w.counter.Load()}, events.Attributes{
			ID: "1", Source: "/test", Time: time.Now(),
		})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		ended <- runner.New(runner.Config{
			Bus: w, Engine: w.engine, Name: "node-0", Log: slog.New(slog.NewTextHandler(&w.log, nil)), Incarnation: "one",
			Prune:     w.prune,
			Heartbeat: cmp.Or(w.heartbeat, time.Hour), // so that mostly the orders alone show what was missed
		}).Run(ctx)
	}()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("the node ended with %v", err)
		}
		stop()
	}
}

func (w *world) prune(_ context.Context, _ node.Owner, needed []string) error {
	w.needed = append(w.needed, needed)
	return w.pruneErr
}

// quick restarts instances after a second.
var quick = events.RestartSpec{Restart: &events.Restart{Delay: events.Duration(time.Second), MaxDelay: events.Duration(time.Minute)}}

func specOf(image string) *events.Spec {
	spec := &events.Spec{Image: image, RestartSpec: quick}
	if image == asked {
		spec.Health = &events.Health{
			Exec: []string{"/check"}, Interval: events.DefaultCheckInterval, Timeout: events.Duration(time.Hour), Retries: 1,
		}
	}
	return spec
}

// store stores an order in the stream, and returns the live message of it.
func (w *world) store(ordinal uint32, action events.Action, image string) events.Message {
	w.t.Helper()
	return w.storeSpec(ordinal, action, specOf(image))
}

func (w *world) storeSpec(ordinal uint32, action events.Action, spec *events.Spec) events.Message {
	w.t.Helper()
	return w.storeOrder(ordinal, events.Order{Action: action, Spec: spec})
}

func (w *world) storeOrder(ordinal uint32, o events.Order) events.Message {
	w.t.Helper()
	counter := w.counter.Add(1)
	o.Log, o.Stream, o.Decided, o.Counter = cluster, w.stream, counter, counter
	id := events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Ordinal: ordinal, Generation: 1}
	m, err := events.Encode(events.OrderSubject("node-0", id), o, events.Attributes{ID: fmt.Sprint(counter), Source: "/test", Time: time.Now()})
	if err != nil {
		w.t.Fatal(err)
	}
	if m.Sequence, err = w.Bus.Publish(context.Background(), m); err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *world) tell(ordinal uint32, action events.Action, image string) {
	w.t.Helper()
	w.tellSpec(ordinal, action, specOf(image))
}

func (w *world) tellSpec(ordinal uint32, action events.Action, spec *events.Spec) {
	w.t.Helper()
	w.live <- w.storeSpec(ordinal, action, spec)
	synctest.Wait()
}

func (w *world) want(running, standing []uint32) {
	w.t.Helper()
	synctest.Wait()
	if r, s := w.engine.running(); !slices.Equal(r, running) || !slices.Equal(s, standing) {
		w.t.Errorf("%v run and %v stand, want %v and %v", r, s, running, standing)
	}
}

// said returns every status that the node has published, in order.
func (w *world) said() []events.Message {
	w.t.Helper()
	state, err := w.State(context.Background(), bus.Statuses)
	if err != nil {
		w.t.Fatal(err)
	}
	reader, err := w.Read(context.Background(), bus.Statuses, state.First)
	if err != nil {
		w.t.Fatal(err)
	}
	defer reader.Stop()
	var all []events.Message
	for range state.Last - state.First + 1 {
		all = append(all, <-reader.Messages())
	}
	return all
}

// positions returns the attempt and phase of every status of an instance, in order.
func (w *world) positions() []string {
	w.t.Helper()
	var all []string
	for _, m := range w.said() {
		if s, err := events.ParseStatus(m); err == nil && s.Instance != nil {
			all = append(all, fmt.Sprint(s.Instance.Attempt, " ", s.Instance.Phase))
		}
	}
	return all
}

// TestANodeThatIsTooOldLeavesEverythingAsItIs has the cluster at a level at which the node does not work: before it joins, and once it has.
func TestANodeThatIsTooOldLeavesEverythingAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.heartbeat = time.Second
		w.level.Store(1)
		w.store(0, events.ActionRun, good)
		end := w.begin()
		defer end()
		<-time.After(time.Minute)
		w.want(nil, nil)
		const advice = "upgrade it: it works at levels up to 0, and the cluster is at level 1"
		if said := strings.Count(w.log.String(), advice); said != 1 {
			t.Errorf("the node gives its advice %d times, want once:\n%s", said, w.log.String())
		}
		w.level.Store(0)
		<-time.After(time.Minute)
		w.want([]uint32{0}, nil)
		w.level.Store(1)
		w.store(0, events.ActionStop, "")
		w.store(1, events.ActionRun, good)
		<-time.After(time.Minute)
		w.want([]uint32{0}, nil)
		if said := strings.Count(w.log.String(), advice); said != 2 {
			t.Errorf("the node gives its advice %d times, want twice:\n%s", said, w.log.String())
		}
	})
}

func TestAnEngineThatHangsHoldsUpItsPlacesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.tell(0, events.ActionRun, good)
		for ordinal := range uint32(4) {
			w.tell(1+ordinal, events.ActionRun, hanging)
		}
		w.tell(5, events.ActionRun, good)
		w.tell(6, events.ActionRun, good)
		w.want([]uint32{0}, []uint32{1, 2, 3, 4})
		w.tell(0, events.ActionStop, "")
		w.want(nil, []uint32{1, 2, 3, 4})
		w.tell(5, events.ActionStop, "") // stands in line, and never has its turn
		w.tell(2, events.ActionStop, "") // is interrupted: what it had made goes
		w.want([]uint32{6}, []uint32{1, 3, 4})
		if w.engine.most != 4 {
			t.Errorf("%d containers were made at once, want 4", w.engine.most)
		}
	})
}

func TestOrdersThatWereMissedAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.tell(0, events.ActionRun, good)
		w.store(1, events.ActionRun, good)
		w.slow = true
		w.tell(2, events.ActionRun, good) // shows that one was missed
		w.tell(1, events.ActionStop, "")  // while all are read: the reading does not know it
		w.tell(3, events.ActionRun, good)
		w.want([]uint32{0}, nil)
		<-time.After(2 * time.Second)
		w.want([]uint32{0, 2, 3}, nil)
		w.store(4, events.ActionRun, good)
		w.tell(5, events.ActionRun, good)
		w.store(6, events.ActionRun, good) // missed while all are read
		w.tell(7, events.ActionRun, good)
		<-time.After(5 * time.Second)
		w.want([]uint32{0, 2, 3, 4, 5, 6, 7}, nil)
	})
}

// TestAnOrderFromBeforeTheReadingIsIgnored delivers an order late, after the node has read that its instance is forgotten.
func TestAnOrderFromBeforeTheReadingIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		late := w.store(0, events.ActionRun, good)
		w.store(0, events.ActionForget, "")
		w.tell(1, events.ActionRun, good) // shows that some were missed
		synctest.Wait()
		w.live <- late
		<-time.After(time.Second)
		w.want([]uint32{1}, nil)
	})
}

// TestAnOrderOfALostStreamComesLate creates the stream of orders again, with lower sequences than before.
func TestAnOrderOfALostStreamComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.stream = "one"
		w.tell(0, events.ActionRun, good)
		w.tell(1, events.ActionRun, good)
		w.tell(2, events.ActionRun, good)
		late := w.store(0, events.ActionRun, good)
		w.Restore(bus.Orders, memory.NewBackup("two", nil))
		w.stream = "two"
		w.counter.Store(0)
		w.tell(0, events.ActionRun, good)
		w.live <- late
		synctest.Wait()
		w.tell(0, events.ActionStop, "")
		w.want([]uint32{1, 2}, nil)
	})
}

func TestAHintDuringAStepIsLookedAtAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.engine.crashes = 1
		w.tell(0, events.ActionRun, good)
		<-time.After(2 * time.Second)
		w.want([]uint32{0}, nil)
		want := []string{"0 prepared", "0 started", "0 offline", "1 prepared", "1 started", "1 online"}
		if said := w.positions(); !slices.Equal(said, want) {
			t.Errorf("the node said %q, want %q", said, want)
		}
	})
}

func TestABusThatIsAwayDelaysStatusesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.away.Store(true)
		w.tell(0, events.ActionRun, good)
		<-time.After(time.Second)
		w.tell(0, events.ActionStop, "")
		<-time.After(time.Second)
		if said := w.positions(); len(said) != 0 {
			t.Errorf("the node said %q", said)
		}
		w.away.Store(false)
		<-time.After(time.Second)
		want := []string{"0 prepared", "0 started", "0 online", "0 stopped", "0 removed"}
		if said := w.positions(); !slices.Equal(said, want) {
			t.Errorf("the node said %q, want %q", said, want)
		}
	})
}

func TestAHealthCheckThatHangsHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.engine.mute = true
		w.tell(0, events.ActionRun, asked)
		w.want([]uint32{0}, nil)
		if err := w.engine.set(node.Container{
			Handle: "c", Instance: events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Generation: 1}, ExitCode: 3,
		}, node.Exited); err != nil {
			t.Fatal(err)
		}
		w.engine.hint(events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Generation: 1})
		<-time.After(2 * time.Second)
		w.want([]uint32{0}, nil) // restarted, and asked again
		w.tell(0, events.ActionStop, "")
		w.want(nil, nil)
		want := []string{"0 prepared", "0 started", "0 offline", "1 prepared", "1 started", "1 stopped", "1 removed"}
		if said := w.positions(); !slices.Equal(said, want) {
			t.Errorf("the node said %q, want %q", said, want)
		}
	})
}

func TestAnInstanceIsOnlineAsLongAsItIsHealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.tell(0, events.ActionRun, asked)
		<-time.After(time.Minute)
		w.engine.mu.Lock()
		w.engine.mute = true
		w.engine.mu.Unlock()
		<-time.After(30 * time.Second)
		w.engine.mu.Lock()
		w.engine.mute = false // for the checks to come: the one under way hangs until its time is up
		w.engine.mu.Unlock()
		<-time.After(2 * time.Hour)
		want := []string{"0 prepared", "0 started", "0 online", "0 offline", "1 prepared", "1 started", "1 online"}
		if said := w.positions(); !slices.Equal(said, want) {
			t.Errorf("the node said %q, want %q", said, want)
		}
	})
}

func TestAnInstanceEndsThatTakesTooMuchDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		spec := &events.Spec{Image: good, Resources: events.Resources{Disk: 10}}
		w.tellSpec(0, events.ActionRun, spec)
		w.tell(1, events.ActionRun, good) // may take any amount
		take := func(own events.Size) {
			w.engine.mu.Lock()
			w.engine.usage.Own = own
			w.engine.mu.Unlock()
		}
		take(10)
		<-time.After(time.Minute)
		take(11)
		over := func(m events.Message) bool { return strings.Contains(string(m.Body), "over-disk") }
		for range 100 {
			if slices.ContainsFunc(w.said(), over) {
				break
			}
			<-time.After(100 * time.Millisecond)
		}
		take(0)
		<-time.After(time.Minute)
		synctest.Wait()
		ends := slices.DeleteFunc(w.said(), func(m events.Message) bool { return !over(m) })
		if running, _ := w.engine.running(); len(ends) != 1 || !slices.Equal(running, []uint32{0, 1}) {
			t.Errorf("%v run, and the node said %d times that it takes too much", running, len(ends))
		}
	})
}

func TestTheSameHappensEveryTime(t *testing.T) {
	var first []string
	for range 5 {
		var said []string
		synctest.Test(t, func(t *testing.T) {
			w := start(t)
			for ordinal := range uint32(12) {
				w.tell(ordinal, events.ActionRun, []string{good, good, hanging}[ordinal%3])
			}
			for ordinal := range uint32(12) {
				if ordinal%2 == 0 {
					w.tell(ordinal, events.ActionStop, "")
				}
			}
			<-time.After(time.Minute)
			synctest.Wait()
			for _, m := range w.said() {
				said = append(said, fmt.Sprint(m.Subject, m.Header, string(m.Body)))
			}
		})
		if first == nil {
			first = said
		}
		if !slices.Equal(said, first) {
			t.Fatalf("the node said\n%q, and before\n%q", said, first)
		}
	}
}

func TestImagesThatOrdersNameAreNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		spec := &events.Spec{Image: "main"}
		spec.Init = &events.InitContainer{Image: "before"}
		spec.Sidecars = []events.Sidecar{{Name: "side", Image: "beside"}, {Name: "other", Image: "main"}}
		w.tellSpec(0, events.ActionRun, spec)
		w.tell(1, events.ActionRun, hanging)
		w.tell(2, events.ActionRun, good)
		w.tell(2, events.ActionStop, "old")
		w.pruneErr = errors.New("busy")
		<-time.After(time.Hour)
		synctest.Wait()
		w.tell(1, events.ActionStop, "")
		<-time.After(time.Hour)
		synctest.Wait()
		want := [][]string{{"before", "beside", hanging, "main"}, {"before", "beside", "main"}}
		if !reflect.DeepEqual(w.needed, want) {
			t.Errorf("%q were needed, want %q", w.needed, want)
		}
	})
}
