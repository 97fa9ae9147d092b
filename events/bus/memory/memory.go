package memory

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// Bus is a bus.Bus in memory.
type Bus struct {
	now func() time.Time

	mu        sync.Mutex
	streams   map[bus.Stream]*stream
	buckets   map[string]*bucket
	listeners map[*listener]struct{}
	answers   map[*answerer]struct{}
	made      int
}

var _ bus.Bus = (*Bus)(nil)

// New returns a bus with all streams, empty. Messages and entries are stored at the time that now tells.
func New(now func() time.Time) *Bus {
	b := &Bus{
		now: now, streams: map[bus.Stream]*stream{}, buckets: map[string]*bucket{},
		listeners: map[*listener]struct{}{}, answers: map[*answerer]struct{}{},
	}
	for _, name := range bus.Streams {
		b.makeStream(name)
	}
	return b
}

func (b *Bus) makeStream(name bus.Stream) {
	b.made++
	s := &stream{identity: strings.ToLower(string(name)) + "-" + strconv.Itoa(b.made), first: 1, changed: make(chan struct{})}
	switch name {
	case bus.Commands:
		s.root = events.CommandRoot
	case bus.Statuses:
		s.root = events.StatusRoot
	case bus.Log:
		s.root, s.live = events.LogRoot, events.EventRoot
	case bus.Orders:
		s.root, s.live, s.onePerSubject = events.OrdersRoot, events.OrderRoot, true
	case bus.Metrics:
		s.root = events.MetricRoot
	}
	b.streams[name] = s
}

// Remake deletes a stream and makes it again, empty and with another identity, as an operator may.
func (b *Bus) Remake(name bus.Stream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.streams[name].changed)
	b.makeStream(name)
}

// stream keeps messages in order of sequence. Those at index i have any sequence from first on, climbing.
type stream struct {
	identity      string
	root          string
	live          string // where stored messages are published again, or ""
	onePerSubject bool
	messages      []events.Message
	first, last   uint64
	changed       chan struct{} // closed at the next change
}

func (b *Bus) capturing(subject string) (*stream, error) {
	for _, s := range b.streams {
		if strings.HasPrefix(subject, s.root+".") {
			return s, nil
		}
	}
	return nil, fmt.Errorf("publish to %s: %w", subject, bus.ErrNoAnswer)
}

// Publish implements bus.Bus.
func (b *Bus) Publish(ctx context.Context, m events.Message) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err := b.capturing(m.Subject)
	if err != nil {
		return 0, err
	}
	if s.root == events.CommandRoot && len(m.Body) > bus.MaxCommand {
		return 0, fmt.Errorf("publish to %s: %w: %d bytes", m.Subject, bus.ErrTooLarge, len(m.Body))
	}
	b.store(s, m)
	return s.last, nil
}

// Append implements bus.Bus.
func (b *Bus) Append(ctx context.Context, name bus.Stream, after uint64, batch []events.Message) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if len(batch) == 0 || len(batch) > bus.MaxBatch {
		return 0, fmt.Errorf("append %d messages to %s: %w", len(batch), name, bus.ErrTooLarge)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.streams[name]
	if s.last != after {
		return 0, fmt.Errorf("append to %s after %d, its last is %d: %w", name, after, s.last, bus.ErrPosition)
	}
	for _, m := range batch {
		b.store(s, m)
	}
	return s.last, nil
}

func (b *Bus) store(s *stream, m events.Message) {
	s.last++
	m.Sequence, m.Time = s.last, b.now()
	if s.onePerSubject {
		for i := range s.messages {
			if s.messages[i].Subject == m.Subject {
				s.messages = append(s.messages[:i:i], s.messages[i+1:]...)
				break
			}
		}
	}
	s.messages = append(s.messages, m)
	close(s.changed)
	s.changed = make(chan struct{})
	if s.live != "" {
		m.Subject = s.live + strings.TrimPrefix(m.Subject, s.root)
		b.deliver(m)
	}
}

// Last implements bus.Bus.
func (b *Bus) Last(_ context.Context, name bus.Stream) (events.Message, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.streams[name]
	if len(s.messages) == 0 {
		return events.Message{}, false, nil
	}
	return s.messages[len(s.messages)-1], true, nil
}

// Latest implements bus.Bus.
func (b *Bus) Latest(_ context.Context, name bus.Stream, filter string) ([]events.Message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []events.Message
	for _, m := range b.streams[name].messages {
		if matches(filter, m.Subject) {
			all = append(all, m)
		}
	}
	return all, nil
}

// State implements bus.Bus.
func (b *Bus) State(_ context.Context, name bus.Stream) (bus.State, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.streams[name]
	state := bus.State{Identity: s.identity, First: s.last + 1, Last: s.last}
	if len(s.messages) > 0 {
		state.First = s.messages[0].Sequence
	}
	return state, nil
}

// Purge implements bus.Bus.
func (b *Bus) Purge(_ context.Context, name bus.Stream, below uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.streams[name]
	for len(s.messages) > 0 && s.messages[0].Sequence < below {
		s.messages = s.messages[1:]
	}
	return nil
}

// Renew implements bus.Bus: no stream of this bus is ever missing.
func (b *Bus) Renew(context.Context) error { return nil }

// Now implements bus.Bus.
func (b *Bus) Now(context.Context) (time.Time, error) { return b.now(), nil }

// matches reports whether a subject matches a filter with NATS's wildcards.
func matches(filter, subject string) bool {
	f, s := strings.Split(filter, "."), strings.Split(subject, ".")
	for i, token := range f {
		switch {
		case token == ">":
			return len(s) > i
		case i >= len(s) || (token != "*" && token != s[i]):
			return false
		}
	}
	return len(f) == len(s)
}
