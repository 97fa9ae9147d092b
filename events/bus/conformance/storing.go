package conformance

import (
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

const (
	command = events.CommandRoot + ".service.demo.web.ensure"
	logged  = events.LogRoot + ".node.n"
	live    = events.EventRoot + ".node.n"
	ordered = events.OrdersRoot + ".n.demo.web"
)

var storing = []promise{
	{"publish answers the sequences of the stream one by one", publishNumbers},
	{"a subject that no stream captures gets no answer", publishNowhere},
	{"a command of 64 KiB is taken and one byte more is too large", publishLarge},
	{"append stores behind the expected message and answers the last sequence", appendStores},
	{"append at another place stores nothing and republishes nothing", appendFenced},
	{"append takes 1 to 1000 messages", appendSizes},
	{"append of a message larger than the server takes stores nothing", appendLarge},
	{"purge lets go of what is below and keeps the numbers", purgeKeepsNumbers},
	{"every stream has an identity of its own", identities},
	{"a state says when its first message was stored", stateSince},
}

func publishNumbers(s *suite) {
	for want := uint64(1); want <= 3; want++ {
		if got := s.publish(command, "{}"); got != want {
			s.Fatalf("the sequence is %d, want %d", got, want)
		}
	}
	if got := s.publish(events.StatusRoot+".n.hello", "{}"); got != 1 {
		s.Fatalf("the first status has sequence %d: streams number on their own", got)
	}
	s.wantState(bus.Commands, 1, 3)
}

func publishNowhere(s *suite) {
	for _, subject := range []string{"rookery.nowhere", "rookery.cmd", "rookery.cmdx.service.demo.web.ensure"} {
		_, err := s.bus.Publish(s.ctx, message(subject, "{}"))
		s.wantError("publish to "+subject, err, bus.ErrNoAnswer)
	}
}

func publishLarge(s *suite) {
	s.publish(command, strings.Repeat("a", bus.MaxCommand))
	_, err := s.bus.Publish(s.ctx, message(command, strings.Repeat("a", bus.MaxCommand+1)))
	s.wantError("publish one byte more", err, bus.ErrTooLarge)
	s.wantState(bus.Commands, 1, 1)
}

func appendStores(s *suite) {
	if last := s.append(bus.Log, 0, batch(logged, 3)); last != 3 {
		s.Fatalf("the last sequence is %d, want 3", last)
	}
	if last := s.append(bus.Log, 3, batch(logged, 2)); last != 5 {
		s.Fatalf("the last sequence is %d, want 5", last)
	}
	s.wantState(bus.Log, 1, 5)
}

func appendFenced(s *suite) {
	told := s.subscribe(events.EventRoot + ".>")
	s.append(bus.Log, 0, []events.Message{message(logged+".first", "{}")})
	for _, after := range []uint64{0, 2} {
		_, err := s.bus.Append(s.ctx, bus.Log, after, batch(logged, 3))
		s.wantError("append at another place", err, bus.ErrPosition)
	}
	s.wantState(bus.Log, 1, 1)
	s.append(bus.Log, 1, []events.Message{message(logged+".second", "{}")})
	s.wantMessage(s.next(told.Messages()), live+".first", "{}", 1)
	s.wantMessage(s.next(told.Messages()), live+".second", "{}", 2)
	s.quiet(told.Messages())
}

func appendSizes(s *suite) {
	last := s.append(bus.Log, 0, batch(logged, 1))
	last = s.append(bus.Log, last, batch(logged, bus.MaxBatch))
	if last != 1+bus.MaxBatch {
		s.Fatalf("the last sequence is %d, want %d", last, 1+bus.MaxBatch)
	}
	for _, count := range []int{0, bus.MaxBatch + 1} {
		_, err := s.bus.Append(s.ctx, bus.Log, last, batch(logged, count))
		s.wantError("append an empty batch", err, bus.ErrTooLarge)
	}
	s.wantState(bus.Log, 1, last)
}

func appendLarge(s *suite) {
	large := strings.Repeat("a", bus.MaxMessage+1)
	for _, messages := range [][]events.Message{
		{message(logged, large)},
		{message(logged, "{}"), message(logged, large)},
		{message(logged, large), message(logged, "{}")},
	} {
		_, err := s.bus.Append(s.ctx, bus.Log, 0, messages)
		s.wantError("append a message that is too large", err, bus.ErrTooLarge)
	}
	s.append(bus.Log, 0, batch(logged, 2))
	s.wantState(bus.Log, 1, 2)
}

func purgeKeepsNumbers(s *suite) {
	s.wantState(bus.Commands, 1, 0)
	for range 3 {
		s.publish(command, "{}")
	}
	s.need(s.bus.Purge(s.ctx, bus.Commands, 3))
	s.wantState(bus.Commands, 3, 3)
	s.need(s.bus.Purge(s.ctx, bus.Commands, 4))
	s.wantState(bus.Commands, 4, 3)
	if _, ok, err := s.bus.Last(s.ctx, bus.Commands); ok || err != nil {
		s.Fatalf("an empty stream has a last message (%v)", err)
	}
	if sequence := s.publish(command, "{}"); sequence != 4 {
		s.Fatalf("the sequence after the purge is %d, want 4", sequence)
	}
	s.wantState(bus.Commands, 4, 4)
}

func stateSince(s *suite) {
	for range 2 {
		s.publish(command, "{}")
	}
	r := s.read(bus.Commands, 1)
	for range 2 {
		first := s.next(r.Messages())
		s.need(s.bus.Purge(s.ctx, bus.Commands, first.Sequence))
		state, err := s.bus.State(s.ctx, bus.Commands)
		s.need(err)
		if !state.Since.Equal(first.Time) {
			s.Fatalf("the first message was stored at %s, and the state says %s", first.Time, state.Since)
		}
	}
}

func identities(s *suite) {
	known := map[string]bus.Stream{}
	for _, stream := range bus.Streams {
		state, err := s.bus.State(s.ctx, stream)
		s.need(err)
		if state.Identity == "" || known[state.Identity] != "" {
			s.Fatalf("%s has identity %q, which is empty or that of %q", stream, state.Identity, known[state.Identity])
		}
		known[state.Identity] = stream
	}
}
