package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nuid"

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
	// joinEvery is how often a process that has no node epoch yet asks for one.
	joinEvery   = 250 * time.Millisecond
	callTimeout = 5 * time.Second
	listTimeout = 30 * time.Second
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
	// Facts are what it says of itself; Engine and, where they are zero, the parts of Capacity are asked of the Engine.
	Facts events.NodeFacts
	Log   *slog.Logger
	// Heartbeat is how often it asks the leader.
	Heartbeat time.Duration
}

// Agent is one process that is a node.
type Agent struct {
	Config
	incarnation string
	owner       node.Owner
	publisher   *publisher
	making      chan struct{} // one for each container that may be made at once; an image may take long
	moving      chan struct{} // one for each that may be started or removed at once

	// reading is held while orders are taken, so that what is read of all of them never overwrites a later one.
	reading sync.Mutex

	mu      sync.Mutex
	workers map[events.InstanceID]*worker
	epoch   uint64
	counter uint64 // of the last order that was seen
	listed  uint64 // the last request for a full list that was met
	running sync.WaitGroup
}

// New returns a node that does nothing before Run.
func New(config Config) *Agent {
	if config.Heartbeat == 0 {
		config.Heartbeat = DefaultHeartbeat
	}
	return &Agent{
		Config: config, incarnation: nuid.Next(), making: make(chan struct{}, parallel), moving: make(chan struct{}, parallel),
		workers: map[events.InstanceID]*worker{},
	}
}

// Run joins and acts until ctx ends; then it returns nil and leaves every container as it is. It returns ErrSuperseded
// or ErrOtherCluster where going on would be wrong.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := a.complete(ctx); err != nil {
		return err
	}
	if err := a.join(ctx); err != nil {
		return ended(ctx, err)
	}
	a.Log.Info("joined", "node", a.Name, "cluster", a.owner.Cluster, "epoch", a.epoch)
	a.publisher = newPublisher(a)
	orders, err := a.Bus.Subscribe(events.NodeOrders(events.OrderRoot, a.Name))
	if err != nil {
		return err
	}
	defer orders.Stop()
	a.spawn(func() { a.publisher.run(ctx) })
	defer a.running.Wait()
	defer cancel(nil)
	if err := a.begin(ctx); err != nil {
		return ended(ctx, err)
	}
	a.spawn(func() { a.beat(ctx, cancel) })
	a.spawn(func() { a.watch(ctx) })
	a.spawn(func() { a.lookOften(ctx) })
	a.follow(ctx, orders)
	return ended(ctx, context.Cause(ctx))
}

// ended returns nil for an end that was asked for.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return nil
	}
	return err
}

func (a *Agent) spawn(f func()) {
	a.running.Add(1)
	go func() {
		defer a.running.Done()
		f()
	}()
}

// complete asks the engine for the facts that were not given.
func (a *Agent) complete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	facts, err := a.Engine.Facts(ctx)
	if err != nil {
		return fmt.Errorf("ask the engine what it is: %w", err)
	}
	a.Facts.Engine = facts.Engine
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

// begin adopts what the engine has, and only then takes the orders and says what it has.
func (a *Agent) begin(ctx context.Context) error {
	for {
		err := a.look(ctx)
		if err == nil {
			err = a.catchUp(ctx)
		}
		if err == nil {
			a.publisher.relist()
			return nil
		}
		a.Log.Warn("cannot begin yet", "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// follow takes orders as they come.
func (a *Agent) follow(ctx context.Context, orders bus.Subscription) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-orders.Messages():
			a.order(ctx, m)
		}
	}
}

// lookOften looks at the engine from time to time. An engine that hangs holds up no order.
func (a *Agent) lookOften(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if err := a.look(ctx); err != nil && ctx.Err() == nil {
				a.Log.Warn("cannot list containers", "error", err)
			}
		}
	}
}

// look asks the engine for all that it has, and tells each worker.
func (a *Agent) look(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	began := time.Now()
	containers, err := a.Engine.List(call, a.owner)
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	have := make(map[events.InstanceID]struct{}, len(containers))
	for _, c := range containers {
		have[c.Instance] = struct{}{}
		a.tell(ctx, c.Instance, func(m *mail) { m.found, m.looked = &c, began })
	}
	for id, w := range a.workers {
		if _, found := have[id]; !found {
			w.tell(func(m *mail) { m.found, m.looked = nil, began })
		}
	}
	return nil
}

// tell leaves mail for the instance's worker, beginning one where there is none. The caller holds a.mu: a worker with
// nothing to do is dismissed under it, and never between being found and being told.
func (a *Agent) tell(ctx context.Context, id events.InstanceID, change func(*mail)) {
	if w := a.workers[id]; w != nil {
		w.tell(change)
		return
	}
	w := newWorker(a, id)
	w.tell(change)
	a.workers[id] = w
	a.spawn(func() { w.run(ctx) })
}

// dismiss forgets a worker that has nothing left to do. It reports false where mail has come in the meantime.
func (a *Agent) dismiss(w *worker) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mail.any() {
		return false
	}
	delete(a.workers, w.id)
	return true
}

// watch turns the engine's hints into looks, beginning again where they end.
func (a *Agent) watch(ctx context.Context) {
	for ctx.Err() == nil {
		ready := func() {
			if err := a.look(ctx); err != nil && ctx.Err() == nil {
				a.Log.Warn("cannot list containers", "error", err)
			}
		}
		err := a.Engine.Watch(ctx, a.owner, ready, a.hint)
		if ctx.Err() != nil {
			return
		}
		a.Log.Warn("hints of the engine ended", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (a *Agent) hint(id events.InstanceID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w := a.workers[id]; w != nil {
		w.tell(func(m *mail) { m.hinted = true })
	}
}
