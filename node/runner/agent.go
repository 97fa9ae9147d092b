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
	"github.com/rookery-project/rookery/events/bus/supply"
	"github.com/rookery-project/rookery/node"
)

// Defaults and limits of a node.
const (
	// DefaultHeartbeat is how often a node asks the leader whether it is still the node of its name.
	DefaultHeartbeat = 5 * time.Second
	// parallel is how many containers a node creates or removes at once: more would not help, as Podman is saturated by then.
	parallel = 4
	// lookEvery is how often the node asks the engine to list all containers, whatever hints came.
	lookEvery = 5 * time.Second
	// beginAgain is how long the node waits after it could not begin, watchAgain after the engine's hints ended.
	beginAgain = time.Second
	watchAgain = time.Second
	// joinEvery is how often a process that has no node epoch yet asks for one.
	joinEvery = 250 * time.Millisecond
	// pruneEvery is how often the node removes unused images, and pruneTimeout how long that may take.
	pruneEvery   = time.Hour
	pruneTimeout = 10 * time.Minute
)

// Errors that end a node.
var (
	// ErrSuperseded occurs when another process has become the node of this name: this process must not act any longer.
	ErrSuperseded = errors.New("another process has joined as this node")
	// ErrOtherCluster occurs when the bus belongs to another cluster than when the node joined.
	ErrOtherCluster = errors.New("the bus belongs to another cluster")
	// errOutdated occurs when the cluster reaches a level at which this program does not work.
	errOutdated = errors.New("this program does not work at the level of the cluster")
)

// Config is what a node needs.
type Config struct {
	Bus    bus.Bus
	Engine node.Engine
	// Supply is what the node reads from streams, and stores in them beyond its statuses. New takes that of an open bus if it is nil.
	Supply supply.Supply
	// Name is the node's unique name.
	Name string
	// Program is the Rookery that this process runs. The node does nothing in a cluster at a level that is not among its own.
	Program events.Program
	// Incarnation tells this process from all others of the same name. New draws one if it is empty.
	Incarnation string
	// Facts are what the node announces about itself. Run asks the Engine for the facts of the engine, and for each part of Capacity that
	// is zero.
	Facts events.NodeFacts
	// Allow lists what services may use of this host.
	Allow node.Allowance
	// Prune removes unused images that the owner pulled, except the needed ones, which orders name. The node calls it beside the loop
	// every hour. Nil keeps all images.
	Prune func(ctx context.Context, owner node.Owner, needed []string) error
	Log   *slog.Logger
	// Heartbeat is how often the node sends a heartbeat to the leader; DefaultHeartbeat if it is 0.
	Heartbeat time.Duration
	// AnswerTime is how long the engine may take for a quick call: to report its facts, to list its containers and to begin its hints.
	// An engine that takes longer degrades the node. The default is node.DefaultAnswerTime.
	AnswerTime time.Duration
	// SampleEvery is how often the node measures and publishes what its instances use; 0 for never.
	SampleEvery time.Duration
	// Meter makes the instruments; nil for none. It does not change what the node does.
	Meter metric.Meter
	// Tracer begins spans; nil for none.
	Tracer trace.Tracer
	// Now is the wall clock for the times in messages; time.Now if it is nil. Alarms use the clock of the process instead.
	Now func() time.Time
}

// Agent is one process that is a node. The goroutine of Run owns all fields below Config. Calls run in goroutines of their own and know
// only what they were given. Through done, each hands the loop a function that handles its result.
type Agent struct {
	Config
	done    chan func()
	running sync.WaitGroup // the calls under way

	owner       node.Owner
	instances   map[events.InstanceID]*instance
	waiting     map[events.InstanceID]time.Time // those whose next step is due later, and when
	making      places                          // to create containers; an image may take long
	moving      places                          // to start or remove containers
	configReads turns
	looks       looks
	answering   node.Answering
	reading     reading
	hearing     hearing
	publisher   publisher
	keeping     int // how many containers' output the node is storing
	alarms      [alarms]time.Time
	turn        uint64 // counts the messages, results and alarms that the loop has handled

	epoch    uint64
	counter  uint64        // of the last order that the node has seen
	readTo   uint64        // the last sequence in ROOKERY_ORDERS when the node last read that
	stream   string        // the identity of the stream that it read then; "" if the stream had no order for this node
	listed   uint64        // the last request for a full list that the node has met
	relist   bool          // the node must publish a full list once it has caught up with its orders
	began    bool          // the node has adopted the engine's containers and knows its orders
	tellings atomic.Uint64 // counts the messages of this process about itself
	recorded recorded      // sessions
	failure  error         // why this process must end
	refused  events.Level  // the level of the cluster for which the node last said that it does nothing

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
	if config.Supply == nil {
		config.Supply = supply.Direct(config.Bus, config.Name)
	}
	config.Allow = config.Allow.Announced(config.Facts)
	return &Agent{
		Config: config, done: make(chan func()),
		instances: map[events.InstanceID]*instance{}, waiting: map[events.InstanceID]time.Time{},
		making: places{free: parallel}, moving: places{free: parallel},
	}
}

// Run joins and acts until ctx ends; then it returns nil and leaves every container as it is. In a cluster for which the program is too old or too
// new it does nothing, and says so. It returns ErrSuperseded
// or ErrOtherCluster if the node must not continue. All calls have ended when it returns.
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
	err = a.loop(ctx, orders.Messages())
	if errors.Is(err, errOutdated) {
		// It only sends heartbeats from now on. If the cluster comes back to a level of its own, another process must begin afresh.
		err = errors.Join(a.join(ctx), errOutdated)
	}
	return ended(ctx, err)
}

// tidy asks the engine to remove what an earlier process has left. A failure does no harm: the next process tries again.
func (a *Agent) tidy(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, a.AnswerTime)
	defer cancel()
	if err := a.Engine.Tidy(call, a.owner); err != nil {
		a.Log.Warn("cannot remove what an earlier process has left; the node tries again when it restarts", "error", err)
	}
}

// ended returns nil if the caller has cancelled ctx, else err.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return nil
	}
	return err
}

// complete asks the engine for the facts that Config leaves open.
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

// loop handles orders, results of calls, hints and alarms one at a time, each to its end. It never waits for a call, so that a call that
// hangs delays nothing else. Its actions depend only on the order in which these come.
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

// beside makes a call in a goroutine of its own, and hands the function that it returns to the loop.
func (a *Agent) beside(ctx context.Context, call func() (then func())) {
	a.running.Go(func() { a.tell(ctx, call()) })
}

// tell hands the function to the loop, which calls it. After the loop's end it does nothing.
func (a *Agent) tell(ctx context.Context, then func()) {
	select {
	case a.done <- then:
	case <-ctx.Done():
	}
}

// begun follows the first listing and the first reading of orders. Only now does the node report its instances, and it sets its alarms.
func (a *Agent) begun(ctx context.Context) {
	a.began = true
	a.publisher.relist()
	now := time.Now()
	a.alarms[alarmBeat], a.alarms[alarmLook] = now.Add(a.beatEvery()), now.Add(lookEvery)
	if a.Prune != nil {
		a.alarms[alarmPrune] = now.Add(pruneEvery)
	}
	a.watch(ctx)
}

// cannotBegin makes the node list its containers again after a while, because what it found may be out of date by then.
func (a *Agent) cannotBegin(err error) {
	a.Log.Warn("the node cannot begin yet; it tries again in a second", "error", err)
	a.alarms[alarmLook] = time.Now().Add(beginAgain)
}
