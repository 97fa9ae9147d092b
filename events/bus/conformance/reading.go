package conformance

import (
	"fmt"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

var reading = []promise{
	{"read delivers from the sequence on in order and then what comes", readInOrder},
	{"read begins with the first message left after a purge", readAfterPurge},
	{"a reader that is stopped ends its messages", readStop},
	{"headers come back as they were written and are found in any case", headers},
	{"last is the last message", last},
	{"latest is the last message of each subject in order", latest},
	{"latest returns more subjects than one page holds", latestMany},
	{"messages of subjects that match are read page by page", matching},
	{"orders keep one message of each subject", oneOrderPerSubject},
}

func readInOrder(s *suite) {
	const stored, from = 1500, 11
	s.append(bus.Log, 0, batch(logged, 1000))
	s.append(bus.Log, 1000, batch(logged, stored-1000))
	r := s.read(bus.Log, from)
	for sequence := uint64(from); sequence <= stored; sequence++ {
		n := (sequence - 1) % 1000
		s.wantMessage(s.next(r.Messages()), fmt.Sprintf("%s.%d", logged, n), fmt.Sprintf(`{"n":%d}`, n), sequence)
	}
	s.quiet(r.Messages())
	s.append(bus.Log, stored, batch(logged, 2))
	for i := range uint64(2) {
		m := s.next(r.Messages())
		if m.Sequence != stored+1+i || m.Time.IsZero() {
			s.Fatalf("live message %d has sequence %d and time %s", i, m.Sequence, m.Time)
		}
	}
}

func readAfterPurge(s *suite) {
	for i := range 5 {
		s.publish(command, fmt.Sprint(i))
	}
	s.need(s.bus.Purge(s.ctx, bus.Commands, 4))
	r := s.read(bus.Commands, 1)
	s.wantMessage(s.next(r.Messages()), command, "3", 4)
	s.wantMessage(s.next(r.Messages()), command, "4", 5)
}

func readStop(s *suite) {
	r, err := s.bus.Read(s.ctx, bus.Log, 1)
	s.need(err)
	s.append(bus.Log, 0, batch(logged, 3))
	s.next(r.Messages())
	r.Stop()
	for range r.Messages() { // what was read ahead may still come; then it must end
	}
}

func headers(s *suite) {
	m := message(logged, "{}")
	m.Header = events.Header{"ce-id": {"7"}, "Ce-Type": {"io.rookery.test"}, "X-UPPER": {"a", "b"}}
	told := s.subscribe(live)
	r := s.read(bus.Log, 1)
	s.append(bus.Log, 0, []events.Message{m})
	last, _, err := s.bus.Last(s.ctx, bus.Log)
	s.need(err)
	all, err := s.bus.Latest(s.ctx, bus.Log, logged)
	s.need(err)
	if len(all) != 1 {
		s.Fatalf("latest has %d messages, want 1", len(all))
	}
	for where, got := range map[string]events.Message{
		"read": s.next(r.Messages()), "republished": s.next(told.Messages()), "last": last, "latest": all[0],
	} {
		for name, want := range map[string]string{
			"ce-id": "7", "CE-ID": "7", "ce-type": "io.rookery.test", "x-upper": "a", "absent": "",
		} {
			if value := got.Header.Get(name); value != want {
				s.Errorf("%s: header %s is %q, want %q", where, name, value, want)
			}
		}
		if values := got.Header["X-UPPER"]; len(values) != 2 || values[1] != "b" {
			s.Errorf("%s: header X-UPPER has the values %q, want a and b", where, values)
		}
	}
}

func last(s *suite) {
	if _, ok, err := s.bus.Last(s.ctx, bus.Log); ok || err != nil {
		s.Fatalf("an empty stream has a last message (%v)", err)
	}
	s.append(bus.Log, 0, batch(logged, 3))
	m, ok, err := s.bus.Last(s.ctx, bus.Log)
	s.need(err)
	if !ok {
		s.Fatal("a stream with messages has no last one")
	}
	s.wantMessage(m, logged+".2", `{"n":2}`, 3)
}

func latest(s *suite) {
	all, err := s.bus.Latest(s.ctx, bus.Orders, events.OrdersRoot+".>")
	s.need(err)
	if len(all) != 0 {
		s.Fatalf("an empty stream has %d latest messages", len(all))
	}
	s.append(bus.Orders, 0, []events.Message{
		message(ordered+".0.1", "a"), message(ordered+".1.1", "b"),
		message(events.OrdersRoot+".other.demo.web.0.1", "c"), message(ordered+".0.1", "d"),
	})
	all, err = s.bus.Latest(s.ctx, bus.Orders, events.NodeOrders(events.OrdersRoot, "n"))
	s.need(err)
	if len(all) != 2 {
		s.Fatalf("latest has %d messages, want 2: %v", len(all), all)
	}
	s.wantMessage(all[0], ordered+".1.1", "b", 2)
	s.wantMessage(all[1], ordered+".0.1", "d", 4)
}

func latestMany(s *suite) {
	const subjects = 1700
	after := uint64(0)
	for count := 0; count < subjects; count += 850 {
		after = s.append(bus.Orders, after, batch(fmt.Sprintf("%s.%d", ordered, count), 850))
	}
	all, err := s.bus.Latest(s.ctx, bus.Orders, events.OrdersRoot+".>")
	s.need(err)
	if len(all) != subjects {
		s.Fatalf("latest has %d messages, want %d", len(all), subjects)
	}
	for i, m := range all {
		if m.Sequence != uint64(i)+1 {
			s.Fatalf("message %d has sequence %d, want %d", i, m.Sequence, i+1)
		}
	}
}

func matching(s *suite) {
	const each = bus.MatchingPage/2 + 10
	after := uint64(0)
	for range 2 {
		for _, of := range []string{logged, logged + ".other"} {
			messages := make([]events.Message, each)
			for i := range messages {
				messages[i] = message(of+".x", "{}")
			}
			after = s.append(bus.Log, after, messages)
		}
	}
	first, err := s.bus.Matching(s.ctx, bus.Log, logged+".*", 1)
	s.need(err)
	if len(first) != bus.MatchingPage || first[0].Sequence != 1 || first[each].Sequence != 2*each+1 {
		s.Fatalf("the first page has %d messages from %d on, and message %d has sequence %d", len(first), first[0].Sequence, each, first[each].Sequence)
	}
	from := first[len(first)-1].Sequence + 1
	rest, err := s.bus.Matching(s.ctx, bus.Log, logged+".*", from)
	s.need(err)
	if len(rest) != 2*each-bus.MatchingPage || rest[0].Sequence != from {
		s.Fatalf("the second page has %d messages from %d on, want %d from %d", len(rest), rest[0].Sequence, 2*each-bus.MatchingPage, from)
	}
	if none, err := s.bus.Matching(s.ctx, bus.Log, logged+".*", after+1); err != nil || len(none) != 0 {
		s.Fatalf("behind the end there are %d messages (%v)", len(none), err)
	}
}

func oneOrderPerSubject(s *suite) {
	s.append(bus.Orders, 0, batch(ordered, 3))
	s.append(bus.Orders, 3, batch(ordered, 2))
	s.wantState(bus.Orders, 3, 5)
	r := s.read(bus.Orders, 1)
	s.wantMessage(s.next(r.Messages()), ordered+".2", `{"n":2}`, 3)
	s.wantMessage(s.next(r.Messages()), ordered+".0", `{"n":0}`, 4)
	s.wantMessage(s.next(r.Messages()), ordered+".1", `{"n":1}`, 5)
	s.append(bus.Orders, 5, batch(ordered, 3))
	s.wantState(bus.Orders, 6, 8)
	for sequence := uint64(6); sequence <= 8; sequence++ {
		if m := s.next(r.Messages()); m.Sequence != sequence {
			s.Fatalf("the reader goes on with %d, want %d", m.Sequence, sequence)
		}
	}
}
