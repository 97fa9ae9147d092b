package world

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rookery-project/rookery/cmd/simulation/checker"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/simulated"
)

// host is a machine with an engine. Its containers outlive the node's process.
type host struct {
	world    *World
	name     string
	link     *link
	facts    events.NodeFacts
	engine   *simulated.Engine
	draw     *rand.Rand
	troubles []*trouble
	pulled   map[string]bool
	deaf     bool // the host loses hints of exits
	// watches is when the watchdog next ends containers whose window is over; zero for never.
	watches time.Time
	// preparing counts the containers that the engine is about to make, even if no node waits for them any longer.
	preparing int
}

// trouble is a fault of an engine for a time.
type trouble struct {
	points []Point
	kind   Kind
}

// wrong returns the fault that hits calls at this point, or "".
func (h *host) wrong(point Point) Kind {
	for _, t := range h.troubles {
		if slices.Contains(t.points, point) {
			return t.kind
		}
	}
	return ""
}

// errNoEngine occurs when the engine never answers a call.
var errNoEngine = errors.New("the engine does not answer")

// errEngine is an engine's answer to a call that failed for an unknown reason.
var errEngine = errors.New("the engine answered 500: internal error")

// errSick is the result of a check of an unhealthy container.
var errSick = errors.New("the answer is 503")

// take carries a call to the engine and back. Half of the time passes before the effect and half after it.
func (h *host) take(k *call, pull time.Duration) {
	if k.springs(true) {
		return
	}
	kind := h.wrong(k.point)
	if kind != "" {
		h.world.unwell(k)
	}
	if kind == EngineRefuses || (kind == EngineFails && h.draw.IntN(2) == 0) {
		h.comeBack(k, outcome{err: errEngine}, h.pace(k.point)/2)
		return
	}
	if kind == PullFails && k.point == Prepare {
		h.comeBack(k, outcome{err: &node.Failure{Reason: events.OfflineImagePull, Message: "the registry is away"}}, h.pace(k.point))
		return
	}
	if kind == PortTaken && k.point == Start {
		h.comeBack(k, outcome{err: &node.Failure{Reason: events.OfflinePortConflict, Message: "address already in use"}}, h.pace(k.point))
		return
	}
	if kind == EngineHangs && h.draw.IntN(2) == 0 {
		k.expire() // nothing happens, and no answer comes
		return
	}
	half := h.pace(k.point) / 2
	at := time.Now().Add(half + pull)
	if !at.Before(k.deadline) {
		k.expire() // the engine carries out the call all the same
	}
	if k.point == Prepare {
		h.preparing++
	}
	h.world.at(at, func() bool {
		if k.point == Prepare {
			h.preparing--
		}
		if k.client.ended.Load() && h.draw.IntN(2) == 0 {
			return false // the engine gave up with its client
		}
		h.world.did(k)
		o := k.effect()
		switch {
		case k.springs(false):
		case kind == EngineHangs, errors.Is(o.err, errNoEngine):
			k.expire()
		case kind == EngineFails:
			h.comeBack(k, outcome{err: errEngine}, half)
		default:
			h.comeBack(k, o, half)
		}
		return true
	})
}

func (h *host) comeBack(k *call, o outcome, after time.Duration) {
	at := time.Now().Add(after)
	if !at.Before(k.deadline) {
		k.expire()
		return
	}
	h.world.at(at, func() bool {
		if k.client.hold(func() { k.answer(o) }) {
			return false
		}
		return k.answer(o)
	})
}

// paces are how long an engine usually takes, as measured on Podman.
var paces = map[Point]time.Duration{
	Prepare: 15 * time.Millisecond, Start: 70 * time.Millisecond, Stop: 100 * time.Millisecond,
	Remove: 90 * time.Millisecond, List: 30 * time.Millisecond, Inspect: time.Millisecond, Check: time.Millisecond,
}

// pace is how long the engine takes this time.
func (h *host) pace(point Point) time.Duration {
	usual := paces[point]
	return usual/2 + time.Duration(h.draw.Int64N(int64(usual)))
}

// pulling is how long it takes until the image is there.
func (h *host) pulling(image string) time.Duration {
	if h.pulled[image] {
		return 0
	}
	h.pulled[image] = true
	if h.wrong(Prepare) == PullSlow {
		return time.Minute + time.Duration(h.draw.Int64N(int64(8*time.Minute)))
	}
	return time.Second + time.Duration(h.draw.Int64N(int64(4*time.Second)))
}

// engine is a node.Engine: the host's, as one process reaches it.
type engine struct {
	host   *host
	client *client
}

var _ node.Engine = (*engine)(nil)

func (e *engine) call(point Point, key string, pull time.Duration) *call {
	return &call{
		client: e.client, point: point, key: key, lost: errNoEngine,
		route: func(k *call) { e.host.take(k, pull) },
	}
}

// Facts implements node.Engine.
func (e *engine) Facts(ctx context.Context) (node.Facts, error) {
	return do(ctx, e.call(Inspect, "facts", 0), func() (node.Facts, error) { return e.host.engine.Facts(context.Background()) })
}

// Tidy implements node.Engine: a simulated engine has nothing to tidy.
func (e *engine) Tidy(context.Context, node.Owner) error { return nil }

// List implements node.Engine.
func (e *engine) List(ctx context.Context, owner node.Owner) ([]node.Container, error) {
	return do(ctx, e.call(List, "list", 0), func() ([]node.Container, error) {
		all, err := e.host.engine.List(context.Background(), owner)
		slices.SortFunc(all, func(a, b node.Container) int { return a.Instance.Compare(b.Instance) })
		return all, err
	})
}

// Inspect implements node.Engine.
func (e *engine) Inspect(ctx context.Context, owner node.Owner, id events.InstanceID) (*node.Container, error) {
	return do(ctx, e.call(Inspect, id.String(), 0), func() (*node.Container, error) {
		return e.host.engine.Inspect(context.Background(), owner, id)
	})
}

// Prepare implements node.Engine.
func (e *engine) Prepare(ctx context.Context, p node.Plan) (node.Container, error) {
	p, err := e.fill(ctx, p)
	if err != nil {
		return node.Container{}, err
	}
	k := e.call(Prepare, p.Instance.String(), 0)
	image := p.Order.Spec.Image
	k.route = func(k *call) { e.host.take(k, e.host.pulling(image)) }
	return do(ctx, k, func() (node.Container, error) {
		if e.host.world.imageOf(image) == absent {
			return node.Container{}, &node.Failure{Reason: events.OfflineImagePull, Message: "no such image"}
		}
		made, err := e.host.engine.Prepare(context.Background(), p)
		if err == nil {
			e.host.world.checker.Prepared(e.host.name, made, p, k.since, k.client.ended.Load())
		}
		return made, err
	})
}

// Start implements node.Engine.
func (e *engine) Start(ctx context.Context, c node.Container) error {
	_, err := do(ctx, e.call(Start, c.Instance.String(), 0), func() (struct{}, error) {
		err := e.host.engine.Start(context.Background(), c)
		if err == nil {
			e.host.runs(c)
		}
		return struct{}{}, err
	})
	return err
}

// Stop implements node.Engine.
func (e *engine) Stop(ctx context.Context, c node.Container, grace time.Duration) error {
	_, err := do(ctx, e.call(Stop, c.Instance.String(), 0), func() (struct{}, error) {
		e.host.world.checker.Stopping(e.host.step(c), stopHook(c))
		return struct{}{}, e.host.engine.Stop(context.Background(), c, grace)
	})
	return err
}

// Remove implements node.Engine.
func (e *engine) Remove(ctx context.Context, c node.Container) error {
	_, err := do(ctx, e.call(Remove, c.Instance.String(), 0), func() (struct{}, error) {
		if c.State == node.Running {
			e.host.world.checker.Ending(e.host.step(c))
		}
		return struct{}{}, e.host.engine.Remove(context.Background(), c)
	})
	return err
}

// Check implements node.Engine.
func (e *engine) Check(ctx context.Context, c node.Container, health events.Health, address string) error {
	_, err := do(ctx, e.call(Check, c.Instance.String(), 0), func() (struct{}, error) {
		if e.host.world.imageOf(e.host.imageOf(c)) == sick {
			e.host.world.checker.Unwell(c.Instance.String())
			return struct{}{}, errSick
		}
		return struct{}{}, e.host.engine.Check(context.Background(), c, health, address)
	})
	return err
}

// Tell implements node.Engine.
func (e *engine) Tell(ctx context.Context, c node.Container, path string, document []byte) error {
	_, err := do(ctx, e.call(Check, "topology of "+c.Instance.String(), 0), func() (struct{}, error) {
		err := e.host.engine.Tell(context.Background(), c, path, document)
		if err == nil {
			e.host.world.learns(e.host, c)
		}
		return struct{}{}, err
	})
	return err
}

// Usage implements node.Engine.
func (e *engine) Usage(ctx context.Context, c node.Container, scratch string) (node.Usage, error) {
	return do(ctx, e.call(Inspect, c.Instance.String(), 0), func() (node.Usage, error) {
		return e.host.engine.Usage(context.Background(), c, scratch)
	})
}

// Output implements node.Engine.
func (e *engine) Output(ctx context.Context, c node.Container) ([]byte, error) {
	return do(ctx, e.call(Inspect, "output of "+c.Instance.String(), 0), func() ([]byte, error) {
		return e.host.engine.Output(context.Background(), c)
	})
}

// Logs implements node.Engine. No part of the world reads logs, because no decision depends on them.
func (e *engine) Logs(ctx context.Context, c node.Container, asked events.LogsRequest, line func(events.LogLine) error) error {
	return e.host.engine.Logs(ctx, c, asked, line)
}

// Execute implements node.Engine. No part of the world runs commands in containers.
func (e *engine) Execute(ctx context.Context, c node.Container, run node.Execution) (int32, error) {
	return e.host.engine.Execute(ctx, c, run)
}

// Watch implements node.Engine. A host that is deaf loses hints. Any other host delivers them a moment later.
func (e *engine) Watch(ctx context.Context, owner node.Owner, ready func(), hint func(events.InstanceID)) error {
	hints := make(chan events.InstanceID, waiting)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case id := <-hints:
				hint(id)
			}
		}
	}()
	defer func() { <-ended }()
	return e.host.engine.Watch(ctx, owner, ready, func(id events.InstanceID) {
		k := e.call(Inspect, "hint "+id.String(), 0)
		k.route = func(*call) { e.host.hint(hints, id) }
		tell(k, nil)
	})
}

func (h *host) hint(hints chan events.InstanceID, id events.InstanceID) {
	if h.deaf {
		return
	}
	const spread = 2 * time.Millisecond
	h.world.at(time.Now().Add(time.Duration(h.draw.Int64N(int64(spread)))), func() bool {
		select {
		case hints <- id:
		default:
		}
		return true
	})
}

// runs follows a start. Every container prints a line, and containers of some images end by themselves.
func (h *host) runs(c node.Container) {
	if h.watch(); !h.runsNow(c) {
		return
	}
	h.world.checker.Started(h.step(c))
	h.world.begins(h, c)
	h.engine.Print(c.Instance, printed(c))
	image := h.imageOf(c)
	if h.isJob(c) {
		h.finishes(c, image)
		return
	}
	b := h.world.imageOf(image)
	if b != crashes && b != finishes {
		return
	}
	const longest = 20 * time.Second
	after := 100*time.Millisecond + time.Duration(h.draw.Int64N(int64(longest)))
	h.world.at(time.Now().Add(after), func() bool {
		if h.world.imageOf(image) != b {
			return false // the image is fine by now
		}
		for _, have := range h.engine.Containers() {
			if have.Handle == c.Handle && have.State == node.Running {
				code := int32(0)
				if b == crashes {
					code = 1
				}
				return h.engine.Kill(c.Instance, code)
			}
		}
		return false
	})
}

// imageOf returns the image of a container, as its revision in the log has it.
func (h *host) imageOf(c node.Container) string {
	return h.world.checker.Spec(c.Instance.Service, c.Revision).Image
}

// running returns the running containers in order.
func (h *host) running() []node.Container {
	all := slices.DeleteFunc(h.engine.Containers(), func(c node.Container) bool { return c.State != node.Running })
	slices.SortFunc(all, func(a, b node.Container) int { return a.Instance.Compare(b.Instance) })
	return all
}

// step describes to the checker a step that a node asks of its engine.
func (h *host) step(c node.Container) checker.Step {
	s := checker.Step{Node: h.name, Container: c, Runs: h.runsNow(c)}
	s.Guarded, s.GuardedBefore = h.engine.Guarded(c)
	return s
}

// runsNow reports whether the container runs.
func (h *host) runsNow(c node.Container) bool {
	return slices.ContainsFunc(h.engine.Containers(), func(have node.Container) bool {
		return have.Handle == c.Handle && have.State == node.Running
	})
}

// unwell tells the checker of a check that failed, for any reason. The node may end the container because of it.
func (w *World) unwell(k *call) {
	if k.point == Check {
		w.checker.Unwell(k.key)
	}
}
