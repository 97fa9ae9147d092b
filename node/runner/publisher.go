package runner

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

const (
	// maxQueued is how many statuses wait for a bus that is away; beyond it one full list stands for them all.
	maxQueued = 4096
	// publishAgain is how long the publisher rests after a failure.
	publishAgain = 200 * time.Millisecond
)

// publisher publishes statuses in order. A bus that is away delays them and loses none that still matters.
type publisher struct {
	bus  bus.Bus
	node string
	log  *slog.Logger
	// epoch and list tell the node epoch, and every instance that the node has something to say of.
	epoch func() uint64
	list  func() []events.InstanceState

	mu    sync.Mutex
	queue []queued
	// wanted counts the requests for the full list; listed is what it was when the last list was made.
	wanted, listed uint64
	wake           chan struct{}
	counter        uint64
}

type queued struct {
	id   events.InstanceID
	view node.View
}

func newPublisher(a *Agent) *publisher {
	return &publisher{bus: a.Bus, node: a.Name, log: a.Log, epoch: a.nodeEpoch, list: a.list, wake: make(chan struct{}, 1)}
}

func (p *publisher) put(id events.InstanceID, v node.View) {
	p.mu.Lock()
	if len(p.queue) >= maxQueued {
		p.queue = nil
		p.wanted++
	}
	p.queue = append(p.queue, queued{id, v})
	p.mu.Unlock()
	p.rouse()
}

// relist has the full list published.
func (p *publisher) relist() {
	p.mu.Lock()
	p.wanted++
	p.mu.Unlock()
	p.rouse()
}

func (p *publisher) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *publisher) run(ctx context.Context) {
	for {
		for p.one(ctx) {
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
	}
}

// one publishes the next thing. It reports false where nothing waits.
func (p *publisher) one(ctx context.Context) bool {
	p.mu.Lock()
	var next *queued
	if len(p.queue) > 0 {
		next = &p.queue[0]
	}
	wanted := p.wanted
	listing := wanted != p.listed
	p.mu.Unlock()
	var err error
	switch {
	case next != nil:
		err = p.publishStatus(ctx, *next)
	case listing:
		err = p.publishList(ctx)
	default:
		return false
	}
	if err == nil {
		p.published(next != nil, wanted)
		return true
	}
	if ctx.Err() != nil {
		return false
	}
	p.log.Debug("cannot publish a status yet", "error", err)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(publishAgain):
		return true
	}
}

func (p *publisher) published(status bool, wanted uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !status {
		p.listed = wanted
		return
	}
	if len(p.queue) > 0 {
		p.queue = p.queue[1:]
	}
}

func (p *publisher) publishStatus(ctx context.Context, q queued) error {
	p.counter++
	state := q.view.State(p.epoch())
	state.Ports = nil
	return p.publish(ctx, events.InstanceStatusSubject(p.node, q.id), events.InstanceStatus{Counter: p.counter, InstanceState: state})
}

func (p *publisher) publishList(ctx context.Context) error {
	epoch, instances := p.epoch(), p.list()
	for {
		n := min(len(instances), events.MaxListed)
		p.counter++
		list := events.InstanceList{Counter: p.counter, Epoch: epoch, Instances: instances[:n], Last: n == len(instances)}
		if err := p.publish(ctx, events.ListSubject(p.node), list); err != nil {
			return err
		}
		if list.Last {
			return nil
		}
		instances = instances[n:]
	}
}

func (p *publisher) publish(ctx context.Context, subject string, data events.Data) error {
	m, err := events.Encode(subject, data, events.Attributes{
		ID: strconv.FormatUint(p.counter, 10), Source: "/rookery/node/" + p.node, Time: time.Now(),
	})
	if err != nil {
		return err
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err = p.bus.Publish(call, m)
	return err
}

func (a *Agent) nodeEpoch() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.epoch
}

// list returns every instance that the node has, or has something to say of, in order.
func (a *Agent) list() []events.InstanceState {
	a.mu.Lock()
	workers := make([]*worker, 0, len(a.workers))
	for _, w := range a.workers {
		workers = append(workers, w)
	}
	epoch := a.epoch
	a.mu.Unlock()
	states := make([]events.InstanceState, 0, len(workers))
	for _, w := range workers {
		if s := w.state(epoch); s.Phase != events.PhasePlaced {
			states = append(states, s)
		}
	}
	slices.SortFunc(states, func(a, b events.InstanceState) int { return a.ID().Compare(b.ID()) })
	return states
}
