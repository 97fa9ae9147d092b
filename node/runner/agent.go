package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

// Defaults and limits of a node.
const (
	// DefaultHeartbeat is how often a node asks whether it is still the node of its name.
	DefaultHeartbeat = 5 * time.Second
	// parallel is how many containers are made or removed at once: Podman is saturated by then.
	parallel = 4
	// lookEvery is how often the engine is asked for all it has, whatever hints came.
	lookEvery = 5 * time.Second
	// beginAgain is how long the node rests where it cannot begin, watchAgain where the engine's hints ended.
	beginAgain = time.Second
	watchAgain = time.Second
	// joinEvery is how often a process that has no node epoch yet asks for one.
	joinEvery = 250 * time.Millisecond
	// pruneEvery is how often images that nobody uses are looked for, and pruneTimeout how long that may take.
	pruneEvery   = time.Hour
	pruneTimeout = 10 * time.Minute
)

// Errors that end a node.
var (
	// ErrSuperseded occurs when another process is the node of this name now: this one must not act any more.
	ErrSuperseded = errors.New("another process has joined as this node")
	// ErrOtherCluster occurs when the bus belongs to another cluster than before.
	ErrOtherCluster = errors.New("the bus belongs to another cluster")
)

// Config is what a node needs.
type Config struct {
	Bus    bus.Bus
	Engine node.Engine
	// Name tells the node from all others.
	Name string
	// Incarnation tells this process from all others of its name; drawn by New where it is empty.
	Incarnation string
	// Facts are what it says of itself; Engine and, where they are zero, the parts of Capacity are asked of the Engine.
	Facts events.NodeFacts
	// Allow is what services may have of this host.
	Allow node.Allowance
	// Prune removes images that the owner pulled and that nobody uses; those that orders name are needed. It is called
	// beside the loop from time to time. Nil where all images stay.
	Prune func(ctx context.Context, owner node.Owner, needed []string) error
	Log   *slog.Logger
	// Heartbeat is how often it asks the leader.
	Heartbeat time.Duration
	// AnswerTime is how long the engine may take for a quick call: to say what it is and what it has, and to begin with its
	// hints. One that takes longer degrades the node. node.DefaultAnswerTime where it is 0.
	AnswerTime time.Duration
	// SampleEvery is how often what its instances use is measured and published; never where it is 0.
	SampleEvery time.Duration
	// Meter makes the instruments; nil where nothing is measured. What the node does is the same.
	Meter metric.Meter
	// Tracer begins spans; nil where nobody is told of them.
	Tracer trace.Tracer
	// Now is the wall clock that messages carry; time.Now where it is nil. What is due when goes by the process's own.
	Now func() time.Time
}

// Agent is one process that is a node. All below Config belongs to the goroutine of Run: calls run beside it, know only
// what they were given, and hand back through done what is to be done with their results.
type Agent struct {
	Config
	done    chan func()
	running sync.WaitGroup // the calls under way

	owner       node.Owner
	instances   map[events.InstanceID]*instance
	waiting     map[events.InstanceID]time.Time // those whose next step is due later, and when
	making      places                          // for containers that are made; an image may take long
	moving      places                          // for those that are started or removed
	configReads turns
	looks       looks
	answering   node.Answering
	reading     reading
	hearing     hearing
	publisher   publisher
	keeping     int // how many containers' output is being kept
	alarms      [alarms]time.Time
	turn        uint64 // counts what the loop has handled

	epoch    uint64
	counter  uint64        // of the last order that was seen
	readTo   uint64        // the last sequence in ROOKERY_ORDERS when that was read
	stream   string        // the identity of the stream that was read then; "" where it had no order for this node
	listed   uint64        // the last request for a full list that was met
	relist   bool          // that one is to be met once the node has caught up with its orders
	began    bool          // what the engine has is adopted, and the orders are known
	tellings atomic.Uint64 // counts what it has said of itself
	failure  error         // why this process must not go on

	meters  *meters
	sampler sampler
}

// New returns a node that does nothing before Run.
func New(config Config) *Agent {
	if config.Heartbeat == 0 {
		config.Heartbeat = DefaultHeartbeat
	}
	if config.AnswerTime == 0 {
		config.AnswerTime = node.DefaultAnswerTime
	}
	if config.Incarnation == "" {
		config.Incarnation = nuid.Next()
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	config.Allow = config.Allow.Announced(config.Facts)
	return &Agent{
		Config: config, done: make(chan func()),
		instances: map[events.InstanceID]*instance{}, waiting: map[events.InstanceID]time.Time{},
		making: places{free: parallel}, moving: places{free: parallel},
	}
}

// Run joins and acts until ctx ends; then it returns nil and leaves every container as it is. It returns ErrSuperseded
// or ErrOtherCluster where going on would be wrong. No call is under way any more when it returns.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	meters, err := newMeters(a.Meter, a.Name)
	if err != nil {
		return err
	}
	a.meters, a.Engine = meters, measured{a.Engine, meters.calls}
	if err := a.complete(ctx); err != nil {
		return err
	}
	if err := a.join(ctx); err != nil {
		return ended(ctx, err)
	}
	a.tidy(ctx)
	a.Log.Info("joined", "node", a.Name, "cluster", a.owner.Cluster, "epoch", a.epoch)
	orders, err := a.Bus.Subscribe(events.NodeOrders(events.OrderRoot, a.Name))
	if err != nil {
		return err
	}
	defer orders.Stop()
	unobserve, err := a.observe(ctx)
	if err != nil {
		return err
	}
	defer unobserve()
	defer a.running.Wait()
	stop, err := a.serveSessions()
	if err != nil {
		return err
	}
	defer stop()
	defer cancel()
	if a.SampleEvery > 0 {
		a.running.Go(func() { a.sampleAll(ctx) })
	}
	return ended(ctx, a.loop(ctx, orders.Messages()))
}

// tidy has the engine remove what an earlier process has left. What cannot be removed now harms nobody.
func (a *Agent) tidy(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, a.AnswerTime)
	defer cancel()
	if err := a.Engine.Tidy(call, a.owner); err != nil {
		a.Log.Warn("cannot remove what an earlier process has left", "error", err)
	}
}

// ended returns nil for an end that was asked for.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return nil
	}
	return err
}

// complete asks the engine for the facts that were not given.
func (a *Agent) complete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, node.FirstAnswer(a.AnswerTime))
	defer cancel()
	facts, err := a.Engine.Facts(ctx)
	if err != nil {
		return fmt.Errorf("ask the engine what it is: %w", err)
	}
	a.Facts.EngineFacts = facts.Engine
	if a.Facts.Capacity.CPU == 0 {
		a.Facts.Capacity.CPU = facts.Capacity.CPU
	}
	if a.Facts.Capacity.Memory == 0 {
		a.Facts.Capacity.Memory = facts.Capacity.Memory
	}
	if a.Facts.Capacity.Disk == 0 {
		a.Facts.Capacity.Disk = facts.Capacity.Disk
	}
	return nil
}

// loop handles one thing after the other, each to its end: an order, the result of a call or a hint, or what is due. It
// never waits for a call, so that whatever hangs holds up nothing else; and what it does depends on nothing but the
// order in which these come.
func (a *Agent) loop(ctx context.Context, orders <-chan events.Message) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	a.look(ctx)
	for a.failure == nil {
		a.publishNext(ctx)
		a.arm(timer)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case m := <-orders:
			a.order(ctx, m)
		case then := <-a.done:
			then()
		case <-timer.C:
			a.ring(ctx)
		}
		a.turn++
	}
	return a.failure
}

// beside makes a call beside the loop, and has the loop do what it returns.
func (a *Agent) beside(ctx context.Context, call func() (then func())) {
	a.running.Go(func() { a.tell(ctx, call()) })
}

// tell has the loop do something. After the loop's end nothing is done.
func (a *Agent) tell(ctx context.Context, then func()) {
	select {
	case a.done <- then:
	case <-ctx.Done():
	}
}

// begun follows the first look and the orders read after it: only now the node says what it has, and goes on from there.
func (a *Agent) begun(ctx context.Context) {
	a.began = true
	a.publisher.relist()
	now := time.Now()
	a.alarms[alarmBeat], a.alarms[alarmLook] = now.Add(a.Heartbeat), now.Add(lookEvery)
	if a.Prune != nil {
		a.alarms[alarmPrune] = now.Add(pruneEvery)
	}
	a.watch(ctx)
}

// cannotBegin has the node look anew after a rest: what it found may be old by then.
func (a *Agent) cannotBegin(err error) {
	a.Log.Warn("cannot begin yet", "error", err)
	a.alarms[alarmLook] = time.Now().Add(beginAgain)
}
