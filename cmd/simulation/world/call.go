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

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// Point is a kind of call that a part makes to the outside, and at which a fault can end the part.
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

// callTimeout bounds a call of the bus without a deadline of its own, as the client library does.
const callTimeout = 5 * time.Second

// errEnded occurs when a part makes a call after it was killed: the call has no effect.
var errEnded = errors.New("this process was killed")

// outcome is the result of a call.
type outcome struct {
	value any
	err   error
}

// call is one call of a part, from the moment when the part makes it until its outcome comes back.
type call struct {
	client   *client
	point    Point
	key      string // the subject of the call: it orders calls made at one time, and tells them apart in the transcript
	n        uint64
	deadline time.Time
	// route takes the call on its way, and effect is what it does when it arrives.
	route  func(*call)
	effect func() outcome
	// lost is the error if no answer comes in time.
	lost error
	// since is when it was made.
	since time.Time
	// back takes the outcome; nil if no goroutine waits for it.
	back chan outcome
	// then takes the outcome if no goroutine does.
	then func(outcome)
	over bool // the outcome was delivered, or is no longer wanted
}

// calls holds the calls that parts have made since the world took them last.
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

// take returns the calls made since the last time, in an order that does not depend on the order of the goroutines.
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

// do makes a call and waits for its outcome.
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
			<-k.back // a frozen process does not see the time pass until it runs again
		}
		return none, fmt.Errorf("%w: %s: %w", k.lost, k.key, ctx.Err())
	}
}

// tell makes a call and does not wait for its outcome.
func tell(k *call, effect func() outcome) {
	if k.client.ended.Load() {
		return
	}
	k.effect = effect
	k.client.world.calls.make(k)
}

// answer delivers the outcome to the goroutine that waits for it. It reports whether one does.
func (k *call) answer(o outcome) bool {
	if k.over {
		return false
	}
	k.over = true
	if errors.Is(o.err, bus.ErrFull) {
		k.client.refused = time.Now()
	}
	if o.err == nil && k.point == Beat && strings.HasPrefix(k.key, events.HeartbeatRoot+".") {
		k.client.heard = time.Now()
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
