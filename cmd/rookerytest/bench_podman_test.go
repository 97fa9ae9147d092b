package rookerytest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// BenchmarkPodman measures from the order to the status that the instance is online, on the real Podman, beside a bare
// loop that has the same engine prepare and start the same containers.
func BenchmarkPodman(b *testing.B) {
	uri := podmantest.Start(b)
	reference := podmantest.LoadWeb(b, uri)
	engine, err := podman.Connect(b.Context(), uri)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(engine.Close)
	timed := &timedEngine{Engine: engine, spent: map[events.InstanceID]time.Duration{}}
	h := newHouse(b, true)
	client := h.connect()
	joined := joining(b, client, 1)
	h.coordinator(time.Hour)
	const firstPort = 21_000
	h.node("node-0", timed, firstPort)
	joined()
	fleet := &fleet{
		b: b, engine: timed, client: client,
		orders:   subscribe(b, client, instanceOrders),
		statuses: subscribe(b, client, events.StatusRoot+".*.instance.>"),
	}
	command(b, client, "web", "ensure",
		fmt.Sprintf(`{"image":%q,"scale":1,"ports":[{"name":"http","port":8080}]}`, reference))
	fleet.order = fleet.until(events.PhaseOnline, 1).order
	fleet.scale(0)
	fleet.until(events.PhaseRemoved, 1)

	b.Run("order-to-running", fleet.orderToRunning)
	b.Run("starts", fleet.starts)
}

// timedEngine is an engine that adds up how long its own work for each instance took.
type timedEngine struct {
	node.Engine

	mu    sync.Mutex
	spent map[events.InstanceID]time.Duration
}

func (e *timedEngine) add(id events.InstanceID, since time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spent[id] += time.Since(since)
}

func (e *timedEngine) of(id events.InstanceID) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.spent[id]
}

// Prepare implements node.Engine.
func (e *timedEngine) Prepare(ctx context.Context, p node.Plan) (node.Container, error) {
	defer e.add(p.Instance, time.Now())
	return e.Engine.Prepare(ctx, p)
}

// Start implements node.Engine.
func (e *timedEngine) Start(ctx context.Context, c node.Container) error {
	defer e.add(c.Instance, time.Now())
	return e.Engine.Start(ctx, c)
}

// fleet is one node on Podman with one service.
type fleet struct {
	b        *testing.B
	engine   *timedEngine
	client   bus.Bus
	orders   <-chan events.Message
	statuses <-chan events.Message
	order    events.Order // as the service's instances get it
	bare     uint16       // counts the bare containers
}

func (f *fleet) scale(n int) {
	command(f.b, f.client, "web", "scale", fmt.Sprintf(`{"scale":%d,"busy":"supersede"}`, n))
}

// reached says what came while waiting: the last order and when, and of which instance the last status was and when.
type reached struct {
	order   events.Order
	ordered time.Time
	id      events.InstanceID
	seen    time.Time
}

// until waits for count statuses of the phase.
func (f *fleet) until(phase events.Phase, count int) reached {
	f.b.Helper()
	deadline := time.After(2 * benchPatience)
	var r reached
	for count > 0 {
		select {
		case m := <-f.orders:
			now := time.Now()
			if _, _, order, err := events.ParseOrder(m); err == nil && order.Action == events.ActionRun {
				r.order, r.ordered = order, now
			}
		case m := <-f.statuses:
			now := time.Now()
			status, err := events.ParseStatus(m)
			if err != nil {
				f.b.Fatal(err)
			}
			if status.Instance.Phase == phase {
				r.id, r.seen = status.Instance.ID(), now
				count--
			}
		case <-deadline:
			f.b.Fatalf("gave up: %d instances never became %s", count, phase)
		}
	}
	return r
}

// plan is a container like the service's own, under another owner.
func (f *fleet) plan() node.Plan {
	const firstPort, ports = 23_000, 2000
	f.bare++
	order := f.order
	order.Ports = []events.PortBinding{order.Ports[0]}
	order.Ports[0].HostPort = firstPort + f.bare%ports
	return node.Plan{
		Owner: node.Owner{Cluster: "0123456789ab", Node: "bare"}, Order: order, Address: "127.0.0.1",
		Instance: events.InstanceID{
			Service: events.ServiceID{Namespace: "bare", Name: "web"}, Ordinal: uint32(f.bare), Generation: 1,
		},
	}
}

// start prepares and starts the planned container with the engine alone.
func (f *fleet) start(p node.Plan) (node.Container, error) {
	c, err := f.engine.Engine.Prepare(f.b.Context(), p)
	if err != nil {
		return c, err
	}
	return c, f.engine.Engine.Start(f.b.Context(), c)
}

// orderToRunning alternates between Rookery and bare calls of the engine, so that both meet the same Podman. The time that Rookery itself
// takes is the time spent outside the engine.
func (f *fleet) orderToRunning(b *testing.B) {
	const count = 50
	for b.Loop() {
		var ours, beyond, bare []time.Duration
		for range count {
			f.scale(1)
			r := f.until(events.PhaseOnline, 1)
			took := r.seen.Sub(r.ordered)
			ours, beyond = append(ours, took), append(beyond, took-f.engine.of(r.id))
			f.scale(0)
			f.until(events.PhaseRemoved, 1)

			began := time.Now()
			c, err := f.start(f.plan())
			bare = append(bare, time.Since(began))
			if err != nil {
				b.Fatal(err)
			}
			f.remove(c)
		}
		latencies(b, ours, bare)
		b.ReportMetric(float64(middle(beyond).Microseconds())/1000, "beyond-Podman's-own-p50-ms")
		b.ReportMetric(float64(beyond[len(beyond)*99/100].Microseconds())/1000, "beyond-Podman's-own-p99-ms")
	}
}

func (f *fleet) remove(c node.Container) {
	if err := f.engine.Remove(f.b.Context(), c); err != nil {
		f.b.Error(err)
	}
}

// starts scales to many instances at once, beside a loop that starts as many, four at a time.
func (f *fleet) starts(b *testing.B) {
	const count = 60
	for b.Loop() {
		began := time.Now()
		f.scale(count)
		f.until(events.PhaseOnline, count)
		ours := time.Since(began)
		f.scale(0)
		f.until(events.PhaseRemoved, count)

		containers := make(chan node.Container, count)
		plans := make(chan node.Plan, count)
		for range count {
			plans <- f.plan()
		}
		close(plans)
		began = time.Now()
		four(func() {
			for p := range plans {
				c, err := f.start(p)
				if err != nil {
					b.Error(err)
				}
				containers <- c
			}
		})
		bare := time.Since(began)
		close(containers)
		four(func() {
			for c := range containers {
				f.remove(c)
			}
		})
		rates(b, "starts", count, ours, bare)
	}
}

// four runs the function four times at once.
func four(run func()) {
	var running sync.WaitGroup
	for range 4 {
		running.Go(run)
	}
	running.Wait()
}
