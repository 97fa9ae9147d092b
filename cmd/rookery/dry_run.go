package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// errPending ends a dry run that found changes.
var errPending = &codedError{exitPending, errors.New("nothing was done: --dry-run")}

// foretold is the answer to the question `plan`, for every kind of command.
type foretold struct {
	coordinator.Plan
	// Events are the immediate events.
	Events []string `json:"events"`
	// Instances are the instances that leave a drained node.
	Instances []jsontext.Value `json:"instances"`
}

// rehearse prints what a command would do. It returns errPending if the command would change anything.
func (a *asking) rehearse(ctx context.Context, b *bus.JetStream, out io.Writer, m events.Message) error {
	var raw jsontext.Value
	if err := askPast(ctx, b, "plan", planQuestion(m), &raw); err != nil {
		return err
	}
	var p foretold
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("read the coordinator's answer: %w", err)
	}
	switch {
	case a.out.json():
		if err := a.out.print(out, raw); err != nil {
			return err
		}
	case p.Rejection == nil && p.Service != "":
		if err := printPlan(out, p.Plan); err != nil {
			return err
		}
		if !p.replaces() && p.changes() {
			p.printEvents(out)
		}
	case p.Rejection == nil:
		p.printEvents(out)
	}
	if p.Rejection != nil {
		return &codedError{exitRejected, fmt.Errorf("the command would be rejected (%s): %s", p.Rejection.Code, p.Rejection.Reason)}
	}
	if p.changes() {
		return errPending
	}
	return nil
}

// planQuestion returns the question what a command would do.
func planQuestion(m events.Message) api.PlanQuestion {
	words := strings.Split(strings.TrimPrefix(m.Subject, events.CommandRoot+"."), ".")
	q := api.PlanQuestion{Verb: words[len(words)-1], Body: m.Body}
	switch words[0] {
	case "service":
		q.Namespace, q.Name = words[1], words[2]
	case "group":
		q.Group = words[1] + "/" + words[2]
	case "node":
		q.Node = words[1]
	}
	return q
}

// changes reports whether a command would change anything.
func (p foretold) changes() bool {
	return len(p.Instances) > 0 || p.replaces() ||
		slices.ContainsFunc(p.Events, func(e string) bool { return !strings.HasSuffix(e, ".accepted") && !strings.HasSuffix(e, ".succeeded") })
}

// replaces reports whether a command to a service would change an instance.
func (p foretold) replaces() bool {
	return slices.ContainsFunc(p.Slots, func(s coordinator.PlannedSlot) bool { return s.Action != coordinator.PlanNone })
}

func (p foretold) printEvents(out io.Writer) {
	fmt.Fprintf(out, "At sequence %d of the log this command leads to:\n", p.Sequence)
	for _, e := range p.Events {
		fmt.Fprintln(out, "  "+e)
	}
}
