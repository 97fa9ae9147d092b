package memory

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// Bus is a bus.Bus in memory.
type Bus struct {
	// Accounts says that the streams were made where accounts are on. It is set before the bus is used.
	Accounts bool

	now func() time.Time

	mu        sync.Mutex
	streams   map[bus.Stream]*stream
	buckets   map[string]*bucket
	objects   map[string]*objects
	listeners map[*listener]struct{}
	answers   map[*answerer]struct{}
	// coordinators are those that serve questions, in the order in which they began.
	coordinators []*bus.Coordinator
	made         int
}

var _ bus.Bus = (*Bus)(nil)

// New returns a bus with all streams, empty. Messages and entries are stored at the time that now tells.
func New(now func() time.Time) *Bus {
	b := &Bus{
		now: now, streams: make(map[bus.Stream]*stream, len(bus.Streams)), buckets: map[string]*bucket{}, objects: map[string]*objects{},
		listeners: map[*listener]struct{}{}, answers: map[*answerer]struct{}{},
	}
	for _, name := range bus.Streams {
		b.makeStream(name)
	}
	return b
}

func (b *Bus) makeStream(name bus.Stream) {
	b.made++
	s := &stream{identity: strings.ToLower(string(name)) + "-" + strconv.Itoa(b.made), changed: make(chan struct{})}
	switch name {
	case bus.Commands:
		s.root = events.CommandRoot
	case bus.Statuses:
		s.root = events.StatusRoot
	case bus.Log:
		s.root, s.live = events.LogRoot, events.EventRoot
	case bus.Orders:
		s.root, s.live, s.latest = events.OrdersRoot, events.OrderRoot, map[string]uint64{}
	case bus.Metrics:
		s.root, s.latest = events.MetricRoot, map[string]uint64{}
	}
	b.streams[name] = s
}

// Remake deletes a stream and makes it again, empty and with another identity, as an operator may. Its readers end.
func (b *Bus) Remake(name bus.Stream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(name)
}

func (b *Bus) remove(name bus.Stream) {
	b.streams[name].removed = true
	close(b.streams[name].changed)
	b.makeStream(name)
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
	if len(m.Body) > bus.MaxMessage || (s.root == events.CommandRoot && len(m.Body) > bus.MaxCommand) {
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
	for _, m := range batch {
		if len(m.Body) > bus.MaxMessage {
			return 0, fmt.Errorf("append to %s: %w: %d bytes", name, bus.ErrTooLarge, len(m.Body))
		}
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
	m.Sequence, m.Time = s.last+1, b.now()
	s.add(m)
	if s.live != "" {
		m.Subject = s.live + strings.TrimPrefix(m.Subject, s.root)
		b.deliver(m)
	}
}

// Last implements bus.Bus.
func (b *Bus) Last(_ context.Context, name bus.Stream) (events.Message, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m, ok := b.streams[name].newest()
	return m, ok, nil
}

// Latest implements bus.Bus.
func (b *Bus) Latest(_ context.Context, name bus.Stream, filter string) ([]events.Message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []events.Message
	for m := range b.streams[name].from(0) {
		if matches(filter, m.Subject) {
			all = append(all, m)
		}
	}
	return all, nil
}

// Matching implements bus.Bus.
func (b *Bus) Matching(_ context.Context, name bus.Stream, filter string, from uint64) ([]events.Message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var page []events.Message
	for m := range b.streams[name].from(from) {
		if len(page) == bus.MatchingPage {
			break
		}
		if matches(filter, m.Subject) {
			page = append(page, m)
		}
	}
	return page, nil
}

// State implements bus.Bus.
func (b *Bus) State(_ context.Context, name bus.Stream) (bus.State, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.streams[name]
	state := bus.State{Identity: s.identity, Accounts: b.Accounts, First: s.last + 1, Last: s.last}
	for m := range s.from(0) {
		state.First, state.Since = m.Sequence, m.Time
		break
	}
	if name == bus.Commands { // no caller reads the size of the others
		for m := range s.from(0) {
			state.Bytes += uint64(len(m.Subject) + len(m.Body))
		}
	}
	return state, nil
}

// Purge implements bus.Bus.
func (b *Bus) Purge(_ context.Context, name bus.Stream, below uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streams[name].purge(below)
	return nil
}

// Renew implements bus.Bus: no stream of this bus is ever missing.
func (b *Bus) Renew(context.Context) error { return nil }

// Leaderless implements bus.Bus: all of this bus has a leader.
func (b *Bus) Leaderless(context.Context) ([]string, error) { return nil, nil }

// Replace implements bus.Bus, as if no server led what it replaces.
func (b *Bus) Replace(_ context.Context, name string) error {
	if stream := bus.Stream(name); slices.Contains(bus.Streams, stream) {
		b.Remake(stream)
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if k := b.buckets[name]; k != nil {
		k.empty()
	}
	return nil
}

// Room implements bus.Bus. There is no limit.
func (b *Bus) Room(context.Context) (bus.Room, error) { return bus.Room{}, nil }

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
