package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// pastTimeout bounds a question about the past, for which the log may have to be folded.
const pastTimeout = 70 * time.Second

// place is a place in the log as people name it: a sequence, a time, or how long ago; the end of the log where they name none.
type place struct {
	sequence uint64
	time     time.Time
}

// placeForms says how a place is written.
const placeForms = "a sequence of the log as 4711, a time as 2026-11-01T12:00Z, or how long ago as 90m"

func parsePlace(text string, now time.Time) (place, error) {
	if text == "" {
		return place{}, nil
	}
	if sequence, err := strconv.ParseUint(text, 10, 64); err == nil && sequence > 0 {
		return place{sequence: sequence}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil {
			return place{time: at}, nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return place{time: now.Add(-ago)}, nil
	}
	return place{}, fmt.Errorf("%q is no place in the log: write %s", text, placeForms)
}

// find returns the sequence that the place stands for.
func (p place) find(ctx context.Context, b *bus.JetStream) (uint64, error) {
	if _, err := logState(ctx, b); err != nil {
		return 0, err
	}
	return api.Find(ctx, b, p.sequence, p.time)
}

// askPast asks a coordinator a question that may take long.
func askPast(ctx context.Context, b *bus.JetStream, name string, question, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, pastTimeout)
	defer cancel()
	if _, err := logState(ctx, b); err != nil {
		return err
	}
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	m, err := b.RequestWhole(ctx, events.Message{Subject: events.APIRoot + "." + name, Header: events.Header{}, Body: body})
	if err != nil {
		return unanswered(err)
	}
	if code := m.Header.Get(bus.HeaderErrorCode); code != "" {
		number, err := strconv.Atoi(code)
		if err != nil {
			return fmt.Errorf("the coordinator answers with the code %q: %s", code, m.Header.Get(bus.HeaderError))
		}
		return fmt.Errorf("the coordinator answers %d: %w", number, &bus.QuestionError{Code: number, Reason: m.Header.Get(bus.HeaderError)})
	}
	if err := json.Unmarshal(m.Body, answer); err != nil {
		return fmt.Errorf("the answer does not read: %w", err)
	}
	return nil
}

// unanswered says what to do where a question got no answer.
func unanswered(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer came in time: %w: ask again, or where none answers look at its log", err)
	}
	return fmt.Errorf("no coordinator answers: %w: start one with `rookery coordinator`", err)
}

// parts are which service and which node alone are to be shown; all where there is none.
type parts struct{ service, node string }

func (p *parts) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.service, "service", "", "show this service alone, as `namespace/name`")
	cmd.Flags().StringVar(&p.node, "node", "", "show this `node` alone")
}

func (p *parts) check(cmd *cobra.Command) error {
	if p.service == "" {
		return nil
	}
	if _, err := events.ParseServiceID(p.service); err != nil {
		return usage(cmd, err)
	}
	return nil
}
