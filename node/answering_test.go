package node_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

func TestAnEngineIsDegradedThatDoesNotAnswer(t *testing.T) {
	const within = 10 * time.Second
	refused := errors.New("connection refused")
	late := fmt.Errorf("listing: %w", context.DeadlineExceeded)
	long := errors.New(strings.Repeat("ä", events.MaxMessage))
	for _, tt := range []struct {
		name string
		errs []error // nil for an answer; refused comes at once, late after all the time
		want string
	}{
		{"answers", []error{nil}, ""},
		{"refuses once, as a service that restarts", []error{refused}, ""},
		{"refuses now and then", []error{refused, nil, refused}, ""},
		{"refuses twice", []error{refused, refused}, "connection refused"},
		{"hangs once", []error{late}, "within 10s"},
		{"says first what was first", []error{late, refused}, "within 10s"},
		{"answers again", []error{late, refused, nil}, ""},
		{"is long-winded", []error{long, long}, "ä"},
	} {
		var a node.Answering
		for _, err := range tt.errs {
			switch {
			case err == nil:
				a = a.Answered()
			case errors.Is(err, context.DeadlineExceeded):
				a = a.Missed(err, within, within)
			default:
				a = a.Missed(err, time.Millisecond, within)
			}
		}
		if (tt.want == "") != (a.Degraded == "") || !strings.Contains(a.Degraded, tt.want) || len(a.Degraded) > events.MaxMessage {
			t.Errorf("one that %s: %q, want %q", tt.name, a.Degraded, tt.want)
		}
		for _, step := range []node.Step{node.StepPrepare, node.StepStart, node.StepStop, node.StepRemove} {
			if want := tt.want != "" && step <= node.StepStart; a.Holds(step) != want {
				t.Errorf("one that %s holds step %d up: %t", tt.name, step, !want)
			}
		}
	}
}
