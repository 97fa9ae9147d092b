package conformance

import (
	"context"
	"errors"
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

var telling = []promise{
	{"send reaches all that listen now, by wildcard too", sendListen},
	{"a subscription that is stopped hears nothing more", subscriptionStop},
	{"what the log stores is told under rookery.event", republishLog},
	{"what the orders store is told under rookery.order", republishOrders},
	{"commands and statuses are not republished", republishNothingElse},
	{"a request is answered by who answers its subject", requestAnswer},
	{"a request without an answer says so", requestNobody},
	{"a request whose answer fails hears nothing", requestFails},
	{"stopped answers no longer answer", answerStop},
	{"served questions are answered, and errors reach who asked", serve},
	{"the server tells its time", serverTime},
}

func sendListen(s *suite) {
	all := s.subscribe("test.>")
	one := s.subscribe("test.*.b")
	exact := s.subscribe("test.a")
	for _, subject := range []string{"test", "test.a", "test.a.b", "test.a.b.c", "other.a"} {
		s.need(s.bus.Send(message(subject, subject)))
	}
	for _, want := range []string{"test.a", "test.a.b", "test.a.b.c"} {
		s.wantMessage(s.next(all.Messages()), want, want, 0)
	}
	s.wantMessage(s.next(one.Messages()), "test.a.b", "test.a.b", 0)
	s.wantMessage(s.next(exact.Messages()), "test.a", "test.a", 0)
	s.quiet(all.Messages())
	s.quiet(one.Messages())
	s.quiet(exact.Messages())
}

func subscriptionStop(s *suite) {
	sub, err := s.bus.Subscribe("test.>")
	s.need(err)
	s.need(s.bus.Send(message("test.a", "a")))
	s.next(sub.Messages())
	sub.Stop()
	s.need(s.bus.Send(message("test.b", "b")))
	s.quiet(sub.Messages())
}

func republishLog(s *suite) {
	told := s.subscribe(events.EventRoot + ".>")
	s.append(bus.Log, 0, batch(logged, 2))
	s.publish(logged+".single", "{}")
	s.wantMessage(s.next(told.Messages()), live+".0", `{"n":0}`, 1)
	s.wantMessage(s.next(told.Messages()), live+".1", `{"n":1}`, 2)
	s.wantMessage(s.next(told.Messages()), live+".single", "{}", 3)
}

func republishOrders(s *suite) {
	told := s.subscribe(events.NodeOrders(events.OrderRoot, "n"))
	s.append(bus.Orders, 0, []events.Message{
		message(events.OrdersEpochSubject, "{}"), message(events.OrdersRoot+".other.demo.web.0.1", "{}"),
		message(ordered+".0.1", "a"),
	})
	s.wantMessage(s.next(told.Messages()), events.OrderRoot+".n.demo.web.0.1", "a", 3)
	s.quiet(told.Messages())
}

func republishNothingElse(s *suite) {
	told := s.subscribe(events.EventRoot + ".>")
	orders := s.subscribe(events.OrderRoot + ".>")
	s.publish(command, "{}")
	s.publish(events.StatusRoot+".n.hello", "{}")
	s.quiet(told.Messages())
	s.quiet(orders.Messages())
}

func requestAnswer(s *suite) {
	stop, err := s.bus.Answer("test.ask.*", func(m events.Message) (events.Message, error) {
		return events.Message{Header: events.Header{"x-of": {m.Subject}}, Body: append([]byte("re: "), m.Body...)}, nil
	})
	s.need(err)
	defer stop()
	for _, name := range []string{"a", "b"} {
		answer, err := s.bus.Request(s.ctx, message("test.ask."+name, name))
		s.need(err)
		if string(answer.Body) != "re: "+name || answer.Header.Get("X-Of") != "test.ask."+name {
			s.Fatalf("the answer is %q with headers %v", answer.Body, answer.Header)
		}
	}
}

func requestNobody(s *suite) {
	_, err := s.bus.Request(s.ctx, message("test.ask", "{}"))
	s.wantError("a request without an answer", err, bus.ErrNoAnswer)
}

func requestFails(s *suite) {
	stop, err := s.bus.Answer("test.ask", func(events.Message) (events.Message, error) {
		return events.Message{}, errors.New("no")
	})
	s.need(err)
	defer stop()
	ctx, cancel := context.WithTimeout(s.ctx, brief)
	defer cancel()
	_, err = s.bus.Request(ctx, message("test.ask", "{}"))
	s.wantError("a request whose answer fails", err, bus.ErrNoAnswer)
}

func answerStop(s *suite) {
	stop, err := s.bus.Answer("test.ask", func(m events.Message) (events.Message, error) { return m, nil })
	s.need(err)
	_, err = s.bus.Request(s.ctx, message("test.ask", "{}"))
	s.need(err)
	stop()
	_, err = s.bus.Request(s.ctx, message("test.ask", "{}"))
	s.wantError("a request after the stop", err, bus.ErrNoAnswer)
}

func serve(s *suite) {
	by := bus.Coordinator{Name: "leader-1", Program: events.Program{Version: "v0.3.1", Levels: events.Levels{Most: 2}}}
	stop, err := s.bus.Serve(by, map[string]bus.Question{
		"echo": func(asked bus.Asked) (events.Message, error) { return events.Message{Body: asked.Body}, nil },
		"where": func(asked bus.Asked) (events.Message, error) {
			return events.Message{Body: []byte(asked.Namespace)}, nil
		},
		"broken": func(bus.Asked) (events.Message, error) { return events.Message{}, errors.New("it broke") },
		"missing": func(bus.Asked) (events.Message, error) {
			return events.Message{Header: events.Header{bus.HeaderAge: {"1s"}}}, &bus.QuestionError{Code: 404, Reason: "not here"}
		},
	})
	s.need(err)
	all, err := s.bus.Coordinators(s.ctx)
	s.need(err)
	if !slices.Equal(all, []bus.Coordinator{by}) {
		s.Fatalf("%+v answer questions, want %+v", all, by)
	}
	answer, err := s.bus.Request(s.ctx, message(events.APIRoot+".echo", "hello"))
	s.need(err)
	if string(answer.Body) != "hello" || answer.Header.Get(bus.HeaderErrorCode) != "" {
		s.Fatalf("the answer is %q with headers %v", answer.Body, answer.Header)
	}
	for subject, want := range map[string]string{
		events.QuestionSubject("where"): "", events.QuestionBy("ann", "demo", "where"): "demo", events.QuestionBy("ann", events.AllNamespaces, "where"): "",
	} {
		answer, err := s.bus.Request(s.ctx, message(subject, "{}"))
		s.need(err)
		if string(answer.Body) != want {
			s.Fatalf("a question on %s is about %q, want %q", subject, answer.Body, want)
		}
	}
	for question, want := range map[string][2]string{"broken": {"500", "it broke"}, "missing": {"404", "not here"}} {
		answer, err := s.bus.Request(s.ctx, message(events.APIRoot+"."+question, "{}"))
		s.need(err)
		if got := [2]string{answer.Header.Get(bus.HeaderErrorCode), answer.Header.Get(bus.HeaderError)}; got != want {
			s.Fatalf("question %s is answered with %q, want %q", question, got, want)
		}
		if age := answer.Header.Get(bus.HeaderAge); question == "missing" && age != "1s" {
			s.Fatalf("the refusal says %q for the age of its state", age)
		}
	}
	stop()
	_, err = s.bus.Request(s.ctx, message(events.APIRoot+".echo", "hello"))
	s.wantError("a question after the stop", err, bus.ErrNoAnswer)
}

func serverTime(s *suite) {
	before, err := s.bus.Now(s.ctx)
	s.need(err)
	s.publish(command, "{}")
	m, _, err := s.bus.Last(s.ctx, bus.Commands)
	s.need(err)
	after, err := s.bus.Now(s.ctx)
	s.need(err)
	if before.IsZero() || m.Time.Before(before) || after.Before(m.Time) {
		s.Fatalf("a message was stored at %s, between %s and %s", m.Time, before, after)
	}
}
