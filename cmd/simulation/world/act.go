package world

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// act does what the action says.
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

// lasts has a fault end after its time, or when everything heals.
func (w *World) lasts(a Action, over func()) {
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

// publish has a person publish a command. Who is told its sequence has an acknowledgement.
func (w *World) publish(a Action) {
	m := events.Message{Subject: a.Subject, Header: events.Header{}, Body: slices.Concat([]byte(a.Body), a.Raw)}
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		m.Header[name] = []string{a.Header[name]}
	}
	sequence, err := w.server.Publish(context.Background(), m)
	w.note("stored as %d: %v", sequence, err)
	if err == nil {
		w.result.Commands++
		w.judge.acknowledged(sequence, a)
	}
	w.spread()
}

// ask has a person ask for the state, and the judge hold the answer against the log.
func (w *World) ask() {
	c := w.person
	k := c.call(AskState, events.APIRoot+".state")
	k.deadline = time.Now().Add(callTimeout)
	k.lost = errEnded
	k.then = func(o outcome) {
		if m, ok := o.value.(events.Message); ok && o.err == nil {
			w.judge.answered(m)
		}
	}
	c.ask(k, events.Message{Subject: events.APIRoot + ".state"})
}
