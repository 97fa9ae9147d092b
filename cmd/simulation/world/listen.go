package world

import (
	"context"
	"slices"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/nats-io/nuid"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// waiting is how many messages a part may have waiting. Beyond that a listener loses messages, and a reader pauses.
const waiting = 4096

// listener is a core subscription.
type listener struct {
	client   *client
	pattern  string
	messages chan events.Message
	// in is when the last message arrives. No message overtakes another, but an answer may.
	in time.Time
}

// Subscribe implements bus.Bus.
func (c *client) Subscribe(subject string) (bus.Subscription, error) {
	l := &listener{client: c, pattern: subject, messages: make(chan events.Message, waiting)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners = append(c.listeners, l)
	return l, nil
}

// Messages implements bus.Subscription.
func (l *listener) Messages() <-chan events.Message { return l.messages }

// Stop implements bus.Subscription.
func (l *listener) Stop() {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	l.client.listeners = slices.DeleteFunc(l.client.listeners, func(o *listener) bool { return o == l })
}

// hear delivers the message to the client's listeners, unless it is lost on the way.
func (c *client) hear(m events.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.listeners {
		if !matches(l.pattern, m.Subject) || (c.link.leaky > 0 && c.draw.IntN(100) < c.link.leaky) {
			continue
		}
		l.in = latest(l.in, time.Now().Add(c.lag()))
		c.receive(&l.in, func() bool {
			select {
			case l.messages <- m:
				return true
			default:
				return false
			}
		})
	}
}

// answerer answers requests one after the other.
type answerer struct {
	client  *client
	pattern string
	answer  func(events.Message) (events.Message, error)
	// busy holds a value while an answer is under way.
	busy    chan struct{}
	stopped atomic.Bool
	// asked holds the answers still to make, and making says that one is under way.
	asked  []func()
	making bool
}

// User implements bus.Bus.
func (c *client) User() string { return "" }

// NewInbox implements bus.Bus.
func (c *client) NewInbox() string { return "_INBOX." + nuid.Next() }

// Answer implements bus.Bus.
func (c *client) Answer(subject string, answer func(events.Message) (events.Message, error)) (func(), error) {
	a := &answerer{client: c, pattern: subject, answer: answer, busy: make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answerers = append(c.answerers, a)
	return func() {
		c.mu.Lock()
		c.answerers = slices.DeleteFunc(c.answerers, func(o *answerer) bool { return o == a })
		c.mu.Unlock()
		a.stopped.Store(true)
		a.busy <- struct{}{} // after the answer that is under way
		<-a.busy
	}, nil
}

// Serve implements bus.Bus.
func (c *client) Serve(by bus.Coordinator, questions map[string]bus.Question) (func(), error) {
	stop, err := bus.ServeBy(c.Answer, questions)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.serves = &by
	c.mu.Unlock()
	return func() {
		c.mu.Lock()
		c.serves = nil
		c.mu.Unlock()
		stop()
	}, nil
}

// Coordinators implements bus.Bus.
func (c *client) Coordinators(ctx context.Context) ([]bus.Coordinator, error) {
	return do(ctx, c.look(LookAtStream, "coordinators"), func() (all []bus.Coordinator, err error) {
		for _, other := range c.world.clients {
			other.mu.Lock()
			if other.serves != nil && !other.link.cut && !other.ended.Load() && !other.frozen.Load() {
				all = append(all, *other.serves)
			}
			other.mu.Unlock()
		}
		return all, nil
	})
}

// Request implements bus.Bus.
func (c *client) Request(ctx context.Context, m events.Message) (events.Message, error) {
	k := c.call(Beat, m.Subject)
	k.lost = bus.ErrNoAnswer
	k.route = func(k *call) { c.ask(k, m) }
	return do(ctx, k, func() (events.Message, error) { return events.Message{}, nil })
}

// ask delivers a request to all its answerers. The first answer that comes back counts.
func (c *client) ask(k *call, m events.Message) {
	if k.springs(true) {
		return
	}
	k.expire()
	c.forward(func() bool {
		c.world.did(k)
		asked := c.world.answerers(m.Subject)
		for _, a := range asked {
			a.client.backward(func() bool { return a.take(m, k) })
		}
		if len(asked) == 0 {
			c.backward(func() bool { return k.answer(outcome{err: k.lost}) })
		}
		return false
	})
}

// take queues the answer at the answerer, behind earlier requests.
func (a *answerer) take(m events.Message, k *call) bool {
	a.asked = append(a.asked, func() { go a.make(m, k) })
	return a.next()
}

// next begins the next answer, unless one is under way.
func (a *answerer) next() bool {
	if a.making || len(a.asked) == 0 {
		return false
	}
	a.making = true
	begin := a.asked[0]
	a.asked = a.asked[1:]
	begin()
	return true
}

// make makes one answer and sends it back.
func (a *answerer) make(m events.Message, k *call) {
	a.busy <- struct{}{}
	defer func() { <-a.busy }()
	made := a.client.call(reply, k.client.name+" "+k.key)
	if a.stopped.Load() {
		return
	}
	m, err := a.answer(m)
	send := made.route
	made.route = func(made *call) {
		a.making = false
		if err == nil {
			send(made)
		}
		a.next()
	}
	tell(made, func() outcome {
		k.client.backward(func() bool { return k.answer(outcome{value: m}) })
		return outcome{}
	})
}

// answerers returns all reachable answerers of the subject, in a fixed order.
func (w *World) answerers(subject string) []*answerer {
	var found []*answerer
	for _, c := range w.clients {
		if c.link.cut || c.ended.Load() {
			continue
		}
		c.mu.Lock()
		for _, a := range c.answerers {
			if matches(a.pattern, subject) {
				found = append(found, a)
			}
		}
		c.mu.Unlock()
	}
	return found
}

// reader delivers a stream's messages to one client.
type reader struct {
	client *client
	stream bus.Stream
	cursor interface {
		Next(limit int) ([]events.Message, bool)
		Back(messages uint64)
	}
	messages chan events.Message
	due      bool
	resting  bool // its channel is full
	closed   bool
	stopped  atomic.Bool
}

// Read implements bus.Bus.
func (c *client) Read(ctx context.Context, stream bus.Stream, from uint64) (bus.Reader, error) {
	r, err := do(ctx, c.look(LookAtStream, "read "+string(stream)).of(string(stream)), func() (*reader, error) {
		// Operators try again, and so does a coordinator that is too old for the cluster.
		if stream == bus.Log && isCoordinator(c.name) && c.program.Levels.Hold(c.world.checker.Level()) {
			c.world.checker.ReadLog(c.name, from)
		}
		r := &reader{
			client: c, stream: stream, cursor: c.world.server.Cursor(stream, from),
			messages: make(chan events.Message, waiting),
		}
		c.world.readers = append(c.world.readers, r)
		r.kick()
		return r, nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Messages implements bus.Reader.
func (r *reader) Messages() <-chan events.Message { return r.messages }

// Stop implements bus.Reader.
func (r *reader) Stop() { r.stopped.Store(true) }

// kick schedules a delivery of the new messages, unless one is scheduled.
func (r *reader) kick() {
	if r.due || r.closed || r.resting {
		return
	}
	r.due = true
	if at := r.client.backward(r.deliver); at.IsZero() {
		r.due = false
	}
}

func (r *reader) deliver() bool {
	r.due = false
	if r.stopped.Load() || r.closed || r.client.stalled || r.client.world.leaderless[string(r.stream)] > 0 {
		return false
	}
	limit := cap(r.messages) - len(r.messages)
	page, removed := r.cursor.Next(limit)
	for i, m := range page {
		if i > 0 {
			synctest.Wait() // otherwise the number that it finds at once would depend on the speed of processors
		}
		r.messages <- m
	}
	if removed && len(page) == 0 {
		r.closed = true
		close(r.messages)
		return true
	}
	if removed {
		r.kick()
	}
	if len(page) == limit {
		const pause = 5 * time.Millisecond // the part takes its waiting messages meanwhile
		r.resting = true
		r.client.world.at(time.Now().Add(pause), func() bool {
			r.resting = false
			r.kick()
			return false
		})
	}
	return len(page) > 0
}

// stir makes every reader of the stream deliver its new messages.
func (w *World) stir(stream bus.Stream) {
	w.readers = slices.DeleteFunc(w.readers, func(r *reader) bool { return r.stopped.Load() || r.client.ended.Load() })
	for _, r := range w.readers {
		if r.stream == stream {
			r.kick()
		}
	}
}

func (c *client) kickReaders() {
	for _, r := range c.world.readers {
		if r.client == c {
			r.kick()
		}
	}
}
