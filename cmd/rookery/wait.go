package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

const (
	// askEvery is how often the client asks for the outcome of a command, in case a lost connection dropped the event.
	askEvery = 2 * time.Second
	// answerTimeout bounds one question.
	answerTimeout = 5 * time.Second
	// noCoordinatorAfter is how long a command may stay without a response before the client warns that no coordinator may lead.
	noCoordinatorAfter = 10 * time.Second
)

// waiter publishes a command, shows the events of its service or group, and waits for the outcome.
type waiter struct {
	bus      *bus.JetStream
	progress *progress
	// scope is the service, as in "service.demo.web", or the group, as in "group.demo.shop". members are the group's services.
	scope    string
	members  []events.ServiceID
	sequence uint64
	warned   bool
	waves    waves
}

func (w *waiter) run(ctx context.Context, m events.Message) (api.Command, error) {
	seen, err := w.publish(ctx, m)
	if err != nil {
		return api.Command{}, err
	}
	fmt.Fprintf(w.progress, "command %d is stored\n", w.sequence)
	return w.follow(ctx, seen)
}

// publish stores the command and returns a subscription to its service's events from then on, for follow.
func (w *waiter) publish(ctx context.Context, m events.Message) (bus.Subscription, error) {
	seen, err := w.bus.SubscribeAll(w.subjects()...)
	if err != nil {
		return nil, err
	}
	w.progress.know(ctx, w.bus, w.services())
	if w.sequence, err = publishCommand(ctx, w.bus, m); err != nil {
		seen.Stop()
		return nil, err
	}
	return seen, nil
}

// publishCommand stores a command and returns its sequence. While the servers elect the one that takes commands, it tries again.
func publishCommand(ctx context.Context, b *bus.JetStream, m events.Message) (uint64, error) {
	const again = 200 * time.Millisecond
	call, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	m.Subject = b.CommandSubject(m.Subject)
	for {
		sequence, err := b.Publish(call, m)
		if err == nil {
			return sequence, nil
		}
		if !errors.Is(err, bus.ErrNoAnswer) { // it may be stored, or never will be
			return 0, explainPublish(ctx, b, err)
		}
		if _, missing := logState(call, b); errors.Is(missing, bus.ErrNoStream) {
			return 0, missing
		}
		select {
		case <-time.After(again):
		case <-call.Done():
			return 0, explainPublish(ctx, b, err)
		}
	}
}

// subjects match the events of the service, or of the group and its members, and may match others.
func (w *waiter) subjects() []string {
	if len(w.members) == 0 {
		return []string{events.EventRoot + "." + w.scope + ".>"}
	}
	return []string{events.EventRoot + "." + w.scope + ".>", events.EventRoot + ".service." + w.members[0].Namespace + ".>"}
}

// concerns reports whether an event is about the service, the group or one of its members.
func (w *waiter) concerns(m events.Message) bool {
	about := func(scope string) bool { return strings.HasPrefix(m.Subject, events.EventRoot+"."+scope+".") }
	return about(w.scope) || slices.ContainsFunc(w.members, func(id events.ServiceID) bool { return about(scopeOf(id)) })
}

func explainPublish(ctx context.Context, b *bus.JetStream, err error) error {
	switch {
	case errors.Is(err, bus.ErrNoAnswer):
		call, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		if _, err := logState(call, b); err != nil {
			return err
		}
		return fmt.Errorf("%w: no NATS server takes commands now: see `rookery doctor`", err)
	case errors.Is(err, bus.ErrUnknown):
		return fmt.Errorf("no NATS server has confirmed the command, which may be stored: %w: see `rookery doctor`", err)
	case errors.Is(err, bus.ErrTooLarge):
		return fmt.Errorf("%w: a command may have at most %d bytes", err, bus.MaxCommand)
	}
	return err
}

// follow shows events until the command has ended, and ends the subscription.
func (w *waiter) follow(ctx context.Context, seen bus.Subscription) (api.Command, error) {
	defer seen.Stop()
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	began := time.Now()
	var told *api.Command // an answer that arrived before the last events
	for {
		asked := false
		select {
		case <-ctx.Done():
			if told != nil {
				return *told, nil
			}
			if errors.Is(context.Cause(ctx), errTimeout) {
				return api.Command{}, &codedError{exitTimeout, fmt.Errorf("command %d: %w", w.sequence, errTimeout)}
			}
			return api.Command{}, ctx.Err()
		case m := <-seen.Messages():
			if !w.concerns(m) || !w.show(m) {
				continue
			}
		case <-ticker.C:
			asked = true
		}
		outcome, known, err := w.ask(ctx)
		if err != nil {
			return outcome, err
		}
		if known && outcome.Outcome != projections.Accepted {
			// The answer can arrive before the last events, which get time until the next question.
			if asked && told == nil {
				told = &outcome
				continue
			}
			return outcome, nil
		}
		if !known && !w.warned && time.Since(began) > noCoordinatorAfter {
			w.warned = true
			why := cmp.Or(silence(ctx, w.bus, time.Since(began)), errors.New("see `rookery doctor`"))
			fmt.Fprintf(w.progress, "no coordinator has accepted the command yet: %v\n", why)
		}
	}
}

// show prints a line for an event. It reports whether the event may be the end of the command.
func (w *waiter) show(m events.Message) (end bool) {
	line := w.waves.describe(m, time.Now())
	data, _, err := events.Decode(m)
	if err != nil {
		fmt.Fprintln(w.progress, line)
		return false
	}
	if outcome, ok := data.(events.Outcome); ok {
		return w.showOutcome(outcome, line)
	}
	w.progress.event(m, data, line)
	return false
}

// services returns the services that the command changes; none for a command to a node or the cluster.
func (w *waiter) services() []events.ServiceID {
	if words := strings.Split(w.scope, "."); words[0] == "service" {
		return []events.ServiceID{{Namespace: words[1], Name: words[2]}}
	}
	return w.members
}

// succeeded shows the last line about a command that has succeeded: with addresses of its services.
func (w *waiter) succeeded(ctx context.Context, about string) {
	const below = 4
	text := fmt.Sprintf("%s: command %d %s", about, w.sequence, projections.Succeeded)
	if at := addressesOf(ctx, w.bus, w.services()); at != "" {
		text += ": " + at
	}
	folded(w.progress, text, below)
}

// showOutcome prints that the command queues, or starts. It reports whether this may be its end.
func (w *waiter) showOutcome(outcome events.Outcome, line string) (end bool) {
	if outcome.CommandSequence() != w.sequence {
		return false
	}
	switch outcome.(type) {
	case events.CommandAccepted:
		return false
	case events.CommandQueued, events.CommandBegun:
		w.progress.line(line)
		return false
	}
	return true
}

// ask asks for the outcome of the command. It reports false if no coordinator knows it yet.
func (w *waiter) ask(ctx context.Context) (api.Command, bool, error) {
	call, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var outcome api.Command
	q := api.CommandQuestion{Sequence: w.sequence}
	if words := strings.Split(w.scope, "."); len(w.bus.Namespaces()) > 0 && len(words) == 3 {
		q.Namespace = words[1]
	}
	body, err := json.Marshal(q)
	if err != nil {
		return outcome, false, err
	}
	m, err := w.bus.Request(call, events.Message{Subject: w.bus.QuestionSubject("command", q.About()), Header: events.Header{}, Body: body})
	if err != nil || bus.Refused(m) != nil {
		return outcome, false, nil // undecided, or no coordinator leads: ask again
	}
	if err := json.Unmarshal(m.Body, &outcome); err != nil {
		return outcome, false, fmt.Errorf("read the outcome of command %d: %w", w.sequence, err)
	}
	return outcome, true, nil
}

// failureOf turns the outcome of a command into an error with its exit code.
func failureOf(f api.Command) error {
	switch f.Outcome {
	case projections.Rejected:
		return &codedError{exitRejected, fmt.Errorf("command %d was rejected (%s): %s", f.Sequence, f.Rejection.Code, f.Rejection.Reason)}
	case projections.Failed:
		return &codedError{exitFailed, fmt.Errorf("command %d failed (%s): %s", f.Sequence, f.Reason, f.Message)}
	case projections.Superseded:
		return &codedError{exitSuperseded, fmt.Errorf("command %d was superseded by command %d", f.Sequence, f.Other)}
	case projections.Repeated:
		return &codedError{exitRejected, fmt.Errorf("command %d repeats command %d", f.Sequence, f.Other)}
	case projections.Accepted, projections.Succeeded:
	}
	return nil
}
