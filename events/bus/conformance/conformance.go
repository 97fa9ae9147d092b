package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

const (
	// patience bounds every wait for something that must come.
	patience = 20 * time.Second
	// brief bounds every wait for something that must not come.
	brief = 200 * time.Millisecond
)

// Test holds the bus that open returns to every promise of bus.Bus. Each promise gets a bus of its own, with all
// streams empty; open ends it with its test.
func Test(t *testing.T, open func(t *testing.T) bus.Bus) {
	t.Helper()
	for _, promise := range slices.Concat(storing, reading, telling, keeping, objects) {
		t.Run(promise.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			promise.holds(&suite{T: t, ctx: ctx, bus: open(t)})
		})
	}
}

// promise is one sentence that must be true of a bus.
type promise struct {
	name  string
	holds func(*suite)
}

// suite is one promise on trial.
type suite struct {
	*testing.T
	ctx context.Context
	bus bus.Bus
}

// need ends the test where err is not nil.
func (s *suite) need(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// wantError ends the test unless err is the sentinel.
func (s *suite) wantError(what string, err, sentinel error) {
	s.Helper()
	if !errors.Is(err, sentinel) {
		s.Fatalf("%s: the error is %v, want %v", what, err, sentinel)
	}
}

func (s *suite) publish(subject, body string) uint64 {
	s.Helper()
	sequence, err := s.bus.Publish(s.ctx, message(subject, body))
	s.need(err)
	return sequence
}

func (s *suite) append(stream bus.Stream, after uint64, batch []events.Message) uint64 {
	s.Helper()
	last, err := s.bus.Append(s.ctx, stream, after, batch)
	s.need(err)
	return last
}

func (s *suite) wantState(stream bus.Stream, first, last uint64) {
	s.Helper()
	state, err := s.bus.State(s.ctx, stream)
	s.need(err)
	if state.First != first || state.Last != last {
		s.Fatalf("%s holds %d to %d, want %d to %d", stream, state.First, state.Last, first, last)
	}
}

func (s *suite) subscribe(subject string) bus.Subscription {
	s.Helper()
	sub, err := s.bus.Subscribe(subject)
	s.need(err)
	s.Cleanup(sub.Stop)
	return sub
}

func (s *suite) read(stream bus.Stream, from uint64) bus.Reader {
	s.Helper()
	r, err := s.bus.Read(s.ctx, stream, from)
	s.need(err)
	s.Cleanup(r.Stop)
	return r
}

// next returns the next message, which must come.
func (s *suite) next(messages <-chan events.Message) events.Message {
	s.Helper()
	select {
	case m, ok := <-messages:
		if !ok {
			s.Fatal("the messages ended, and more were to come")
		}
		return m
	case <-time.After(patience):
		s.Fatal("no message came")
	}
	return events.Message{}
}

// quiet fails the test where another message comes.
func (s *suite) quiet(messages <-chan events.Message) {
	s.Helper()
	select {
	case m, ok := <-messages:
		if ok {
			s.Fatalf("a message came that should not: %s: %s", m.Subject, m.Body)
		}
	case <-time.After(brief):
	}
}

func (s *suite) wantMessage(m events.Message, subject, body string, sequence uint64) {
	s.Helper()
	if m.Subject != subject || string(m.Body) != body || m.Sequence != sequence {
		s.Fatalf("the message is %s %q with sequence %d, want %s %q with %d",
			m.Subject, m.Body, m.Sequence, subject, body, sequence)
	}
}

func message(subject, body string) events.Message {
	return events.Message{Subject: subject, Header: events.Header{}, Body: []byte(body)}
}

// batch returns count messages, numbered from 0 in subject and body.
func batch(root string, count int) []events.Message {
	messages := make([]events.Message, count)
	for i := range messages {
		messages[i] = message(fmt.Sprintf("%s.%d", root, i), fmt.Sprintf(`{"n":%d}`, i))
	}
	return messages
}
