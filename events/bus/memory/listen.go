package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/nats-io/nuid"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// listener is a core subscription. It loses the messages that do not fit into its channel, as a slow consumer of NATS does.
type listener struct {
	bus      *Bus
	filter   string
	messages chan events.Message
}

func (b *Bus) deliver(m events.Message) {
	for l := range b.listeners {
		if !matches(l.filter, m.Subject) {
			continue
		}
		select {
		case l.messages <- m:
		default:
		}
	}
}

// Send implements bus.Bus.
func (b *Bus) Send(m events.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deliver(m)
	return nil
}

// Subscribe implements bus.Bus.
func (b *Bus) Subscribe(subject string) (bus.Subscription, error) {
	l := &listener{bus: b, filter: subject, messages: make(chan events.Message, waiting)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners[l] = struct{}{}
	return l, nil
}

// Messages implements bus.Subscription.
func (l *listener) Messages() <-chan events.Message { return l.messages }

// Stop implements bus.Subscription.
func (l *listener) Stop() {
	l.bus.mu.Lock()
	defer l.bus.mu.Unlock()
	delete(l.bus.listeners, l)
}

// answerer answers requests one after the other.
type answerer struct {
	filter string
	answer func(events.Message) (events.Message, error)

	busy    sync.Mutex
	stopped bool
}

// Request implements bus.Bus.
func (b *Bus) Request(ctx context.Context, m events.Message) (events.Message, error) {
	b.mu.Lock()
	var found *answerer
	for a := range b.answers {
		if matches(a.filter, m.Subject) {
			found = a
		}
	}
	b.mu.Unlock()
	if found == nil {
		return events.Message{}, fmt.Errorf("ask %s: %w", m.Subject, bus.ErrNoAnswer)
	}
	type result struct {
		m   events.Message
		err error
	}
	answered := make(chan result, 1)
	go func() {
		found.busy.Lock()
		defer found.busy.Unlock()
		if found.stopped {
			answered <- result{err: bus.ErrNoAnswer}
			return
		}
		reply, err := found.answer(m)
		answered <- result{reply, err}
	}()
	select {
	case r := <-answered:
		if r.err != nil {
			return events.Message{}, fmt.Errorf("ask %s: %w: %w", m.Subject, bus.ErrNoAnswer, r.err)
		}
		return r.m, nil
	case <-ctx.Done():
		return events.Message{}, fmt.Errorf("ask %s: %w: %w", m.Subject, bus.ErrNoAnswer, ctx.Err())
	}
}

// User implements bus.Bus.
func (b *Bus) User() string { return "" }

// NewInbox implements bus.Bus.
func (b *Bus) NewInbox() string { return "_INBOX." + nuid.Next() }

// Answer implements bus.Bus.
func (b *Bus) Answer(subject string, answer func(events.Message) (events.Message, error)) (func(), error) {
	a := &answerer{filter: subject, answer: answer}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[a] = struct{}{}
	return func() {
		b.mu.Lock()
		delete(b.answers, a)
		b.mu.Unlock()
		a.busy.Lock()
		defer a.busy.Unlock()
		a.stopped = true // a request that found it before it was deleted comes too late
	}, nil
}

// Serve implements bus.Bus.
func (b *Bus) Serve(by bus.Coordinator, questions map[string]bus.Question) (func(), error) {
	stop, err := bus.ServeBy(b.Answer, questions)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	serves := &by
	b.coordinators = append(b.coordinators, serves)
	return func() {
		stop()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.coordinators = slices.DeleteFunc(b.coordinators, func(other *bus.Coordinator) bool { return other == serves })
	}, nil
}

// Coordinators implements bus.Bus.
func (b *Bus) Coordinators(context.Context) ([]bus.Coordinator, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]bus.Coordinator, 0, len(b.coordinators))
	for _, c := range b.coordinators {
		all = append(all, *c)
	}
	return all, nil
}
