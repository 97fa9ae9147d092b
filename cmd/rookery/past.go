package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// pastTimeout bounds a question about the past. The coordinator may have to fold the log for it.
const pastTimeout = 70 * time.Second

// place is a place in the log as operators name it: a sequence, a time, or a duration before now. The zero value is the end of the log.
type place struct {
	sequence uint64
	time     time.Time
}

// placeForms says how a place is written.
const placeForms = "a sequence of the log (4711), a time (2026-11-01T12:00Z, or \"2026-11-01 12:00:00\" in the local time zone), or a duration " +
	"before now (90m)"

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
	if at, err := time.ParseInLocation(time.DateTime, text, time.Local); err == nil { // as history prints it
		return place{time: at}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return place{time: now.Add(-ago)}, nil
	}
	return place{}, fmt.Errorf("%q is not a place in the log: want %s", text, placeForms)
}

// find returns the sequence of the place.
func (p place) find(ctx context.Context, b *bus.JetStream) (uint64, error) {
	if _, err := logState(ctx, b); err != nil {
		return 0, err
	}
	return api.Find(ctx, b, p.sequence, p.time)
}

// askPast asks a coordinator a question that may take long.
func askPast(ctx context.Context, b *bus.JetStream, name string, question api.Question, answer any) error {
	stale, err := ask(ctx, b, name, pastTimeout, question, answer)
	warn(stale)
	return err
}

// refusal returns the error that an answer holds; nil for none.
func refusal(m events.Message) error {
	code := m.Header.Get(bus.HeaderErrorCode)
	if code == "" {
		return nil
	}
	number, err := strconv.Atoi(code)
	if err != nil {
		return fmt.Errorf("the coordinator answered with the code %q: %s", code, m.Header.Get(bus.HeaderError))
	}
	refused := &bus.QuestionError{Code: number, Reason: m.Header.Get(bus.HeaderError)}
	if number == http.StatusNotFound { // the reason says what is not there
		return refused
	}
	return fmt.Errorf("the coordinator answered %d: %w", number, refused)
}

// parts limit the output to one service or one node; empty fields do not limit it.
type parts struct{ service, node string }

func (p *parts) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.service, "service", "", "show only this service, as `namespace/name`")
	cmd.Flags().StringVar(&p.node, "node", "", "show only this `node`")
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
