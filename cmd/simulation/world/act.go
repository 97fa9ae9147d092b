package world

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/cmd/simulation/checker"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// act carries out an action of the plan.
func (w *World) act(a Action) bool {
	w.note("== %s", a)
	if a.Kind == Command {
		w.publish(a)
		return true
	}
	if a.Kind == Ask {
		w.ask()
		return true
	}
	if a.Kind == Config {
		w.config(a)
		return true
	}
	w.result.Faults[a.Kind]++
	faultOf(a.Kind).hit(w, a)
	return true
}

// lasts ends a fault after its time, or when everything heals. A fault that ends as it begins would test nothing.
func (w *World) lasts(a Action, over func()) {
	if a.For <= 0 {
		w.breach("plan", "the fault %s lasts for no time", a.Kind)
	}
	done := false
	once := func() {
		if !done {
			done = true
			w.note("== over: %s %v", a.Kind, a.Targets)
			over()
		}
	}
	w.ongoing = append(w.ongoing, once)
	w.at(time.Now().Add(a.For), func() bool { once(); return true })
}

// publish sends a command as a client does. A client that receives the sequence has the server's acknowledgement.
func (w *World) publish(a Action) {
	if w.server.Accounts {
		a.Subject = events.CommandBy(operatorName, a.Subject)
	}
	m := events.Message{Subject: a.Subject, Header: events.Header{}, Body: slices.Concat([]byte(a.Body), a.Raw)}
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		m.Header[name] = []string{a.Header[name]}
	}
	if w.leaderless[string(bus.Commands)] > 0 {
		return // the client gets an error
	}
	sequence, err := w.server.Publish(context.Background(), m)
	w.note("stored as %d: %v", sequence, err)
	if err == nil {
		w.result.Commands++
		envelope := strings.Contains(a.Header["Content-Type"], "cloudevents")
		w.checker.Sent(sequence, checker.Command{Subject: a.Subject, Envelope: envelope, Body: m.Body})
	}
	w.spread()
}

// ask requests the state as a client does, and passes the answer to the checker, which compares it with the log.
func (w *World) ask() {
	c, asked := w.person, time.Now()
	k := c.call(AskState, events.APIRoot+".state")
	k.deadline = asked.Add(callTimeout)
	k.lost = errEnded
	k.then = func(o outcome) {
		var s api.ClusterState
		if m, ok := o.value.(events.Message); ok && o.err == nil && m.Header.Get(bus.HeaderErrorCode) == "" && json.Unmarshal(m.Body, &s) == nil {
			w.checker.Told(s.Answered, s.Sequence, s.Hash)
			if age, err := time.ParseDuration(m.Header.Get(bus.HeaderAge)); err == nil {
				w.checker.Fresh(s.Answered, s.Sequence, asked.Add(-age))
			}
		}
	}
	c.ask(k, events.Message{Subject: events.APIRoot + ".state", Body: []byte(`{"live":true}`)})
}
