package world

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// link is a host's way to the server.
type link struct {
	cut   bool
	slow  time.Duration // the longest that a message takes; 0 for the usual time
	leaky int           // percentage lost of the messages that no stream stores
	// flush are the messages that the client library keeps while the link is cut.
	flush []func()
	// stale holds the outdated states of the streams that the host is told; nil if it is told the current ones.
	stale map[bus.Stream]bus.State
}

// client is a part's connection to the bus. Every call of this bus.Bus goes over the part's link. The client freezes and ends with its
// process.
type client struct {
	world  *World
	number int
	name   string
	// program is that of its process.
	program events.Program
	link    *link
	draw    *rand.Rand
	ended   atomic.Bool
	frozen  atomic.Bool
	asked   bool // its process was asked to end
	trap    *trap
	tear    bool // the next append to the log is stored in part
	// refused is when a full log last refused an append of the client.
	refused time.Time
	// heard is when an answer to a heartbeat last came.
	heard   time.Time
	stalled bool // its readers deliver nothing

	held    []func() // run once the process runs again
	open    []*call
	out, in time.Time // when the last message arrives, there and here: none overtakes another on one connection

	mu        sync.Mutex
	listeners []*listener
	answerers []*answerer
	serves    *bus.Coordinator // what it says of itself; nil if it answers no questions
}

var _ bus.Bus = (*client)(nil)

// trap loses a call at a point, on its way there or back. It lets passes calls through first.
type trap struct {
	point  Point
	before bool
	passes int
	spring func()
}

func (c *client) call(point Point, key string) *call {
	return &call{client: c, point: point, key: key, route: c.send, lost: bus.ErrUnknown}
}

// look makes a call that only reads. The read may happen at any time until the call comes back, so it happens as the call comes back.
func (c *client) look(point Point, key string) *call {
	k := c.call(point, key)
	k.route = c.sendLook
	return k
}

func (c *client) sendLook(k *call) {
	if k.springs(true) {
		return
	}
	if c.link.cut {
		k.expire()
		return
	}
	at := latest(latest(c.out, c.in), time.Now().Add(c.latency()+c.latency()))
	c.out, c.in = at, at
	if !at.Before(k.deadline) {
		k.expire()
		return
	}
	c.world.at(at, func() bool {
		switch {
		case c.ended.Load() || k.over:
		case c.link.cut:
			k.expire()
		case !c.hold(func() { k.answer(k.perform()) }):
			return k.answer(k.perform())
		}
		return false
	})
}

// latency is how long a message takes one way.
func (c *client) latency() time.Duration {
	const least, spread = 50 * time.Microsecond, 600 * time.Microsecond
	d := least + time.Duration(c.draw.Int64N(int64(spread)))
	if c.link.slow > 0 && c.draw.IntN(4) == 0 {
		d += time.Duration(c.draw.Int64N(int64(c.link.slow)))
	}
	return d
}

// lag is how much longer a message without a request takes on a slow network.
func (c *client) lag() time.Duration {
	if c.link.slow == 0 {
		return 0
	}
	return time.Duration(c.draw.Int64N(int64(c.link.slow)))
}

// hold postpones do until a frozen process runs again. It reports false for a process that runs.
func (c *client) hold(do func()) bool {
	if c.frozen.Load() {
		c.held = append(c.held, do)
		return true
	}
	return false
}

// begin takes the call on its way.
func (k *call) begin() {
	c := k.client
	if k.back != nil {
		if c.open = append(c.open, k); len(c.open) > manyOpen {
			c.open = slices.DeleteFunc(c.open, func(k *call) bool { return k.over })
		}
	}
	k.depart()
}

// depart takes the call on its way once the process runs.
func (k *call) depart() {
	switch c := k.client; {
	case c.ended.Load():
		k.answer(outcome{err: errEnded})
	case !c.hold(k.depart):
		k.route(k)
	}
}

const manyOpen = 64

// springs reports whether a trap is set here. The trap then stops the call, and ends the process if it is set to do so.
func (k *call) springs(before bool) bool {
	t := k.client.trap
	if t == nil || t.point != k.point || t.before != before || k.client.ended.Load() {
		return false
	}
	if t.passes > 0 {
		t.passes--
		return false
	}
	k.client.trap = nil
	k.client.world.checker.Disturbed()
	if k.back != nil {
		k.expire()
	}
	t.spring()
	return true
}

// send is the way of a call to the server and back.
func (c *client) send(k *call) {
	if k.springs(true) {
		return
	}
	if at := c.forward(k.arrive); k.back != nil && (at.IsZero() || !at.Before(k.deadline)) {
		k.expire()
	}
}

// sendAside sends the measurements of a node. It draws nothing and delays nothing. So a run with nodes that measure could differ from one
// without only if measurements changed decisions. No trap springs for it, and a cut link loses it.
func (c *client) sendAside(k *call) {
	const takes = 200 * time.Microsecond
	if c.link.cut {
		return
	}
	c.world.at(time.Now().Add(takes), func() bool {
		k.effect()
		return true
	})
}

// forward calls do once the message arrives at the server. It returns the time of the arrival; zero for unknown.
func (c *client) forward(do func() bool) time.Time {
	if c.link.cut {
		if c.draw.IntN(2) == 0 {
			c.link.flush = append(c.link.flush, func() { c.forward(do) })
		}
		return time.Time{}
	}
	c.out = latest(c.out, time.Now().Add(c.latency()))
	c.world.at(c.out, do)
	return c.out
}

// backward calls do once the message arrives at the process. It returns the time of the arrival; zero for never.
func (c *client) backward(do func() bool) time.Time { return c.receive(&c.in, do) }

// receive is backward for messages that arrive after the time in.
func (c *client) receive(in *time.Time, do func() bool) time.Time {
	if c.link.cut {
		return time.Time{}
	}
	*in = latest(*in, time.Now().Add(c.latency()))
	c.world.at(*in, func() bool {
		if c.ended.Load() || c.hold(func() { do() }) {
			return false
		}
		return do()
	})
	return *in
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// arrive carries out the call at the server, and sends the outcome back.
func (k *call) arrive() bool {
	c := k.client
	if c.ended.Load() && c.draw.IntN(2) == 0 {
		return false // the process ended before it sent the call
	}
	o := k.perform()
	if k.springs(false) || k.back == nil {
		return true
	}
	if at := c.backward(func() bool { return k.answer(o) }); at.IsZero() || !at.Before(k.deadline) {
		k.expire()
	}
	return false
}

func (k *call) perform() outcome {
	k.client.world.did(k)
	return k.effect()
}

// expire ends the call without an answer a moment before its deadline, so that calls with the same deadline end one by one.
func (k *call) expire() {
	w := k.client.world
	w.unwell(k)
	w.at(latest(time.Now(), k.deadline.Add(-1)), func() bool {
		if k.over || k.client.hold(func() { k.answer(outcome{err: k.lost}) }) {
			return false
		}
		return k.answer(outcome{err: k.lost})
	})
}

// freeze stops the process at its next call, as SIGSTOP does; thaw lets it continue.
func (c *client) freeze() { c.frozen.Store(true) }

func (c *client) thaw() {
	c.frozen.Store(false)
	held := c.held
	c.held = nil
	now := time.Now()
	for _, do := range held {
		c.world.at(now, func() bool {
			if !c.hold(do) {
				do()
			}
			return true
		})
	}
	for _, k := range c.open {
		if !k.over && !now.Before(k.deadline) {
			k.expire()
		}
	}
	c.kickReaders()
}

// Publish implements bus.Bus.
func (c *client) Publish(ctx context.Context, m events.Message) (uint64, error) {
	return do(ctx, c.call(PublishStatus, m.Subject).of(string(bus.Statuses)), func() (uint64, error) {
		sequence, err := c.world.server.Publish(context.Background(), m)
		c.world.note("%s published %s as %d: %s", c.name, m.Subject, sequence, m.Body)
		c.world.checker.Published(m)
		c.world.spread()
		return sequence, err
	})
}

// Append implements bus.Bus.
func (c *client) Append(ctx context.Context, stream bus.Stream, after uint64, batch []events.Message) (uint64, error) {
	point := AppendOrders
	if stream == bus.Log {
		point = AppendLog
	}
	return do(ctx, c.call(point, "append to "+string(stream)).of(string(stream)), func() (uint64, error) {
		return c.world.appends(c, stream, after, batch)
	})
}

// last is what bus.Bus.Last returns.
type last struct {
	m  events.Message
	ok bool
}

// Last implements bus.Bus.
func (c *client) Last(ctx context.Context, stream bus.Stream) (events.Message, bool, error) {
	l, err := do(ctx, c.look(LookAtStream, string(stream)).of(string(stream)), func() (last, error) {
		m, ok, err := c.world.server.Last(context.Background(), stream)
		return last{m, ok}, err
	})
	return l.m, l.ok, err
}

// Latest implements bus.Bus.
func (c *client) Latest(ctx context.Context, stream bus.Stream, filter string) ([]events.Message, error) {
	return do(ctx, c.look(ReadOrders, filter).of(string(stream)), func() ([]events.Message, error) {
		if c.world.ordersRead != nil {
			c.world.ordersRead(c)
		}
		return c.world.server.Latest(context.Background(), stream, filter)
	})
}

// Matching implements bus.Bus.
func (c *client) Matching(ctx context.Context, stream bus.Stream, filter string, from uint64) ([]events.Message, error) {
	return do(ctx, c.look(LookAtStream, filter).of(string(stream)), func() ([]events.Message, error) {
		return c.world.server.Matching(context.Background(), stream, filter, from)
	})
}

// State implements bus.Bus.
func (c *client) State(ctx context.Context, stream bus.Stream) (bus.State, error) {
	return do(ctx, c.look(LookAtStream, string(stream)).of(string(stream)), func() (bus.State, error) {
		if was, stale := c.link.stale[stream]; stale {
			return was, nil
		}
		return c.world.server.State(context.Background(), stream)
	})
}

// Renew implements bus.Bus.
func (c *client) Renew(ctx context.Context) error {
	_, err := do(ctx, c.call(LookAtStream, "renew"), func() (struct{}, error) {
		return struct{}{}, c.world.server.Renew(context.Background())
	})
	return err
}

// Leaderless implements bus.Bus. It takes time only where something has no leader.
func (c *client) Leaderless(ctx context.Context) ([]string, error) {
	if !c.world.anyLeaderless.Load() {
		return nil, nil
	}
	return do(ctx, c.look(LookAtStream, "leaders"), func() ([]string, error) {
		return slices.DeleteFunc(slices.Clone(bus.InMemory), func(name string) bool { return c.world.leaderless[name] == 0 }), nil
	})
}

// Replace implements bus.Bus.
func (c *client) Replace(ctx context.Context, name string) error {
	_, err := do(ctx, c.call(LookAtStream, "replace "+name), func() (struct{}, error) {
		if c.world.leaderless[name] == 0 {
			return struct{}{}, nil
		}
		c.world.led(name)
		return struct{}{}, c.world.server.Replace(context.Background(), name)
	})
	return err
}

// Purge implements bus.Bus.
func (c *client) Purge(ctx context.Context, stream bus.Stream, below uint64) error {
	_, err := do(ctx, c.call(LookAtStream, "purge "+string(stream)).of(string(stream)), func() (struct{}, error) {
		defer c.world.spread()
		return struct{}{}, c.world.server.Purge(context.Background(), stream, below)
	})
	return err
}

// Room implements bus.Bus.
func (c *client) Room(ctx context.Context) (bus.Room, error) {
	return do(ctx, c.look(LookAtStream, "room"), func() (bus.Room, error) { return c.world.server.Room(context.Background()) })
}

// Now implements bus.Bus.
func (c *client) Now(ctx context.Context) (time.Time, error) {
	return do(ctx, c.look(LookAtStream, "time"), func() (time.Time, error) { return time.Now(), nil })
}

// Send implements bus.Bus.
func (c *client) Send(m events.Message) error {
	k := c.call(Tell, m.Subject)
	if strings.HasPrefix(m.Subject, events.MetricRoot+".") {
		k.route = c.sendAside
	}
	tell(k, func() outcome {
		defer c.world.spread()
		return outcome{err: c.world.server.Send(m)}
	})
	return nil
}

// matches reports whether a subject matches a pattern. Rookery's patterns have wildcards only at the end.
func matches(pattern, subject string) bool {
	if rest, ok := strings.CutSuffix(pattern, ">"); ok {
		return strings.HasPrefix(subject, rest)
	}
	if rest, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(subject, rest) && !strings.Contains(subject[len(rest):], ".")
	}
	return pattern == subject
}
