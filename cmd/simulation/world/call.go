package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events/bus"
)

// Point is a place in the code of a part where it meets the outside, and so where it can be made to end.
type Point string

// The points. Each is a call of the bus or of an engine.
const (
	AppendLog     Point = "append-log"
	AppendOrders  Point = "append-orders"
	PublishStatus Point = "publish-status"
	Beat          Point = "heartbeat"
	ReadOrders    Point = "read-orders"
	LookAtStream  Point = "look-at-stream"
	ReadBucket    Point = "read-bucket"
	WriteBucket   Point = "write-bucket"
	Tell          Point = "tell"
	Prepare       Point = "prepare"
	Start         Point = "start"
	Stop          Point = "stop"
	Remove        Point = "remove"
	List          Point = "list"
	Inspect       Point = "inspect"
	Check         Point = "check"
	Stats         Point = "stats"
	AskState      Point = "ask-state"
	Guard         Point = "guard"
	end           Point = "end"
	reply         Point = "reply"
)

// callTimeout bounds a call of the bus that brings no deadline of its own, as the client library does.
const callTimeout = 5 * time.Second

// errEnded occurs when a part asks for anything after it was killed: nothing of it has an effect.
var errEnded = errors.New("this process was killed")

// outcome is what a call comes back with.
type outcome struct {
	value any
	err   error
}

// call is one call of a part, from the moment it is made until it comes back.
type call struct {
	client   *client
	point    Point
	key      string // what it is about, for the order of calls made at one time and for people
	n        uint64
	deadline time.Time
	// route takes the call on its way, and effect is what it does when it arrives.
	route  func(*call)
	effect func() outcome
	// lost is the error where no answer comes in time.
	lost error
	// since is when it was made.
	since time.Time
	// back is where the outcome goes; nil where nobody waits for it.
	back chan outcome
	// then takes the outcome where no goroutine does.
	then func(outcome)
	over bool // the outcome was given, or nobody will ever take it
}

// calls are those that were made since the world looked last.
type calls struct {
	mu      sync.Mutex
	made    []*call
	n       uint64
	arrived chan struct{}
}

func (c *calls) make(k *call) {
	c.mu.Lock()
	c.n++
	k.n = c.n
	c.made = append(c.made, k)
	c.mu.Unlock()
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}

// take returns the calls made since the last time, in an order that does not depend on which goroutine came first.
func (c *calls) take() []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := c.made
	c.made = nil
	if len(made) > 1 {
		slices.SortFunc(made, func(a, b *call) int {
			return cmp.Or(
				cmp.Compare(a.client.number, b.client.number), strings.Compare(string(a.point), string(b.point)),
				strings.Compare(a.key, b.key), cmp.Compare(a.n, b.n),
			)
		})
	}
	return made
}

// do makes a call and waits for what comes of it.
func do[T any](ctx context.Context, k *call, effect func() (T, error)) (T, error) {
	var none T
	c := k.client
	if c.ended.Load() {
		return none, errEnded
	}
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("%w: %s: %w", k.lost, k.key, err)
	}
	k.back, k.since = make(chan outcome, 1), time.Now()
	k.effect = func() outcome {
		v, err := effect()
		return outcome{v, err}
	}
	var ok bool
	if k.deadline, ok = ctx.Deadline(); !ok {
		k.deadline = time.Now().Add(callTimeout)
	}
	c.world.calls.make(k)
	select {
	case o := <-k.back:
		if o.err != nil {
			return none, o.err
		}
		return o.value.(T), nil
	case <-ctx.Done():
		if c.frozen.Load() {
			<-k.back // it does not see the time pass before it runs again
		}
		return none, fmt.Errorf("%w: %s: %w", k.lost, k.key, ctx.Err())
	}
}

// tell makes a call that nobody waits for.
func tell(k *call, effect func() outcome) {
	if k.client.ended.Load() {
		return
	}
	k.effect = effect
	k.client.world.calls.make(k)
}

// answer gives the outcome to whoever waits for it. It reports whether anybody does.
func (k *call) answer(o outcome) bool {
	if k.over {
		return false
	}
	k.over = true
	if errors.Is(o.err, bus.ErrFull) {
		k.client.refused = time.Now()
	}
	switch {
	case k.then != nil:
		k.then(o)
	case k.back != nil:
		k.back <- o
		return true
	}
	return false
}
