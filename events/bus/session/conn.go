package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// Limits of a session.
const (
	// Window is how many bytes may be under way to an end that has not taken them: what a session can take of memory.
	Window = 128 << 10
	// MaxFrame is the greatest body of a frame in bytes; longer ones are sent as several.
	MaxFrame = 32 << 10
	// KeepAlive is how often an end says that it is there, and Silence after how long an end that says nothing is gone.
	KeepAlive = 2 * time.Second
	Silence   = 10 * time.Second
	// Stalled is how long an end waits for another that is there and takes nothing.
	Stalled = time.Hour
	// frameCost is what a frame costs of the window beside its body: so that even empty ones are bounded.
	frameCost = 128
)

// The frames that sessions are made of, and their headers.
const (
	frameReady = "ready"
	frameAck   = "ack"
	frameEnd   = "end"

	headerFrame   = "Rookery-Frame"
	headerNumber  = "Rookery-Number"
	headerTaken   = "Rookery-Taken"
	headerReply   = "Rookery-Reply"
	headerSession = "Rookery-Session"
)

// Errors that end a session.
var (
	// ErrSilent occurs when the other end says nothing any more.
	ErrSilent = errors.New("the other end is silent")
	// ErrGap occurs when a frame was lost on the way.
	ErrGap = errors.New("a frame was lost on the way")
	// ErrFlood occurs when the other end sends more than it may.
	ErrFlood = errors.New("the other end sends more than it may")
	// ErrStalled occurs when the other end takes nothing for too long.
	ErrStalled = errors.New("the other end no longer takes frames")
)

// Frame is a part of what an end says, of the kind that both ends agree on.
type Frame struct {
	Kind string
	Body []byte
}

func (f Frame) cost() uint64 { return uint64(len(f.Body)) + frameCost }

// Conn is one end of a session. Its methods may be called from several goroutines.
type Conn struct {
	bus     bus.Bus
	to      string // the subject on which the other end listens
	heard   bus.Subscription
	ctx     context.Context // ends with the session
	cancel  context.CancelFunc
	pumping sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed when anything below changes
	// sent and acked are bytes to the other end; number is that of the last frame to it.
	sent, acked, number uint64
	// came is the number of the last frame from there. queue waits to be taken: queued bytes; taken counts what was, and told is
	// what the other end knows of that.
	came, queued, taken, told uint64
	queue                     []Frame
	result                    []byte // of the other end
	err                       error  // why it has ended
	ended                     bool   // by the other end, which needs no notice of the end
}

// begin returns an end that listens on a subscription and sends to the subject.
func begin(ctx context.Context, b bus.Bus, heard bus.Subscription, to string) *Conn {
	c := &Conn{bus: b, to: to, heard: heard, changed: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.pumping.Go(c.pump)
	return c
}

// pump takes the frames that arrive, and sends signs of life, until the session ends.
func (c *Conn) pump() {
	defer c.cancel()
	alive, silence := time.NewTicker(KeepAlive), time.NewTimer(Silence)
	defer alive.Stop()
	defer silence.Stop()
	for c.ctx.Err() == nil {
		select {
		case m := <-c.heard.Messages():
			silence.Reset(Silence)
			if c.take(m) {
				return
			}
		case <-alive.C:
			c.acknowledge()
		case <-silence.C:
			c.fail(fmt.Errorf("%w: for %s", ErrSilent, Silence))
			return
		case <-c.ctx.Done():
		}
	}
	c.fail(context.Cause(c.ctx))
}

// take handles one message. It reports whether the session has ended by it.
func (c *Conn) take(m events.Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch kind := m.Header.Get(headerFrame); kind {
	case frameReady:
	case frameAck:
		taken, err := strconv.ParseUint(m.Header.Get(headerTaken), 10, 64)
		if err == nil && taken > c.acked && taken <= c.sent {
			c.acked = taken
			c.wake()
		}
	case frameEnd:
		c.ended, c.result = true, m.Body
		err := reason(m)
		if errors.Is(err, io.EOF) && m.Header.Get(headerNumber) != strconv.FormatUint(c.came, 10) {
			err = ErrGap
		}
		c.end(err)
	default:
		f := Frame{Kind: kind, Body: m.Body}
		number, err := strconv.ParseUint(m.Header.Get(headerNumber), 10, 64)
		switch {
		case err != nil || number != c.came+1:
			c.end(ErrGap)
		case len(m.Body) > MaxFrame || c.queued+f.cost() > Window+MaxFrame:
			c.end(ErrFlood)
		default:
			c.came, c.queued, c.queue = number, c.queued+f.cost(), append(c.queue, f)
			c.wake()
		}
	}
	return c.err != nil
}

// reason is why the other end has ended it: io.EOF where all is well.
func reason(m events.Message) error {
	if err := bus.Refused(m); err != nil {
		return err
	}
	return io.EOF
}

func (c *Conn) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Conn) end(err error) {
	if c.err == nil {
		c.err = err
		c.wake()
	}
}

func (c *Conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(err)
}

// acknowledge says how much was taken, which is also that this end is there.
func (c *Conn) acknowledge() {
	c.mu.Lock()
	taken := c.taken
	c.told = taken
	c.mu.Unlock()
	_ = c.say(frameAck, headerTaken, taken, nil) // what is lost of it is said again
}

func (c *Conn) say(kind, header string, number uint64, body []byte) error {
	return c.bus.Send(events.Message{Subject: c.to, Body: body, Header: events.Header{
		headerFrame: {kind}, header: {strconv.FormatUint(number, 10)},
	}})
}

// Send sends the body as frames of the kind. It waits while the other end has not taken enough of what was sent before.
func (c *Conn) Send(ctx context.Context, kind string, body []byte) error {
	for first := true; first || len(body) > 0; first = false {
		part := body[:min(len(body), MaxFrame)]
		body = body[len(part):]
		if err := c.sendOne(ctx, Frame{kind, part}); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conn) sendOne(ctx context.Context, f Frame) error {
	stalled := time.NewTimer(Stalled)
	defer stalled.Stop()
	for {
		c.mu.Lock()
		if c.err != nil {
			defer c.mu.Unlock()
			return c.err
		}
		if c.sent-c.acked+f.cost() <= Window {
			defer c.mu.Unlock()
			c.sent += f.cost()
			c.number++
			return c.say(f.Kind, headerNumber, c.number, f.Body)
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-stalled.C:
			c.fail(ErrStalled)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Receive takes the next frame. After the last it returns why the session has ended: io.EOF where the other end has ended it well,
// and a *bus.QuestionError where it says what went wrong there.
func (c *Conn) Receive(ctx context.Context) (Frame, error) {
	for {
		c.mu.Lock()
		if len(c.queue) > 0 {
			f := c.queue[0]
			c.queue = c.queue[1:]
			c.queued -= f.cost()
			c.taken += f.cost()
			due := c.taken-c.told >= Window/4 && c.err == nil
			c.mu.Unlock()
			if due {
				c.acknowledge()
			}
			return f, nil
		}
		err, changed := c.err, c.changed
		c.mu.Unlock()
		if err != nil {
			return Frame{}, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Frame{}, ctx.Err()
		}
	}
}

// Result is what the other end has ended the session with.
func (c *Conn) Result() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.result
}

// Close ends the session with the result or the error, unless it has ended, and returns when nothing of it is under way.
func (c *Conn) Close(result []byte, err error) {
	c.mu.Lock()
	ended, number := c.ended, strconv.FormatUint(c.number, 10)
	c.end(context.Canceled)
	c.mu.Unlock()
	c.cancel()
	c.pumping.Wait()
	c.heard.Stop()
	if ended {
		return
	}
	m := events.Message{Body: result, Header: events.Header{headerFrame: {frameEnd}, headerNumber: {number}}}
	if err != nil {
		m = bus.Refuse(m, err)
	}
	m.Subject = c.to
	_ = c.bus.Send(m) // without the bus the other end misses the signs of life
}
