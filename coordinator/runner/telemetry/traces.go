package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/rookery-project/rookery/events"
)

// mostLinks is how many traces a round's span is linked to.
const mostLinks = 64

// Trace tells of a round that is in the log by now, where it served commands whose senders trace them. It belongs to the trace
// of the command that it served, or has one of its own that is linked to theirs, mostLinks of them at most. Without a tracer it tells nothing.
func Trace(ctx context.Context, tracer trace.Tracer, began time.Time, closed events.RoundClosed, records []events.Record) {
	if tracer == nil {
		return
	}
	parents := parentsOf(records)
	if len(parents) == 0 {
		return
	}
	options := []trace.SpanStartOption{
		trace.WithTimestamp(began),
		trace.WithAttributes(attribute.Int64("rookery.round", int64(closed.Round)), attribute.Int("rookery.events", len(records))),
	}
	if len(parents) == 1 {
		ctx = within(ctx, parents[0])
	} else {
		for _, parent := range parents[:min(len(parents), mostLinks)] {
			options = append(options, trace.WithLinks(trace.LinkFromContext(within(context.Background(), parent))))
		}
	}
	_, span := tracer.Start(ctx, "rookery round", options...)
	for _, r := range records {
		if events.SampledTrace(r.Cause.TraceParent) != "" {
			span.AddEvent(r.Data.Kind().Word(), trace.WithAttributes(
				attribute.Int64("rookery.log.sequence", int64(r.Sequence)), attribute.Int64("rookery.command", int64(r.Cause.Correlation))))
		}
	}
	span.End()
}

// parentsOf are the traces of the commands that the records are due to, in the order in which they come up, as far as they are recorded.
func parentsOf(records []events.Record) (parents []string) {
	known := map[string]bool{"": true}
	for _, r := range records {
		if parent := events.SampledTrace(r.Cause.TraceParent); !known[parent] {
			known[parent], parents = true, append(parents, parent)
		}
	}
	return parents
}

// within returns ctx within the trace that a W3C trace context names.
func within(ctx context.Context, parent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
}
