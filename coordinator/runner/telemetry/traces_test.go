package telemetry

import (
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rookery-project/rookery/events"
)

// inTrace is an event that a command of this trace has led to.
func inTrace(digit string) events.Record {
	r := happened(1, events.InstancePlaced{})
	if digit != "" {
		r.Cause.TraceParent = "00-" + strings.Repeat(digit, 32) + "-00f067aa0ba902b7-01"
	}
	return r
}

func TestARoundIsOfTheTraceThatItServedOrLinkedToAll(t *testing.T) {
	for _, c := range []struct {
		name    string
		records []events.Record
		trace   string // of the round's span; "" for one of its own
		links   int
	}{
		{"one", []events.Record{inTrace("a"), inTrace(""), inTrace("a")}, strings.Repeat("a", 32), 0},
		{"two", []events.Record{inTrace("a"), inTrace("b"), inTrace("a")}, "", 2},
	} {
		recorder := tracetest.NewSpanRecorder()
		tracer := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)).Tracer("test")
		Trace(t.Context(), tracer, noon, events.RoundClosed{Round: 1}, c.records)
		ended := recorder.Ended()
		if len(ended) != 1 || len(ended[0].Links()) != c.links {
			t.Fatalf("%s: a round of %d records is %d spans: %v", c.name, len(c.records), len(ended), ended)
		}
		if got := ended[0].SpanContext().TraceID().String(); (got == c.trace) != (c.trace != "") || ended[0].StartTime() != noon {
			t.Errorf("%s: the round is of trace %s since %s", c.name, got, ended[0].StartTime())
		}
		unsampled := inTrace("c")
		unsampled.Cause.TraceParent = strings.TrimSuffix(unsampled.Cause.TraceParent, "01") + "00"
		Trace(t.Context(), tracer, noon, events.RoundClosed{Round: 2}, []events.Record{inTrace(""), unsampled})
		if len(recorder.Ended()) != 1 {
			t.Errorf("%s: an untraced round has a span", c.name)
		}
	}
}
