package runner

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/rookery-project/rookery/events"
)

// traced begins a span about an instance in the trace of the command that caused its order. If the sender does not trace the command,
// or the node has no tracer, there is no span, and end does nothing.
func (a *Agent) traced(ctx context.Context, parent, name string, id events.InstanceID) (within context.Context, end func(error)) {
	parent = events.SampledTrace(parent)
	if parent == "" || a.Tracer == nil {
		return ctx, func(error) {}
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	ctx, span := a.Tracer.Start(ctx, "rookery "+name, trace.WithAttributes(
		keyNode.String(a.Name), keyNamespace.String(id.Service.Namespace), keyService.String(id.Service.Name),
		keyOrdinal.Int64(int64(id.Ordinal)), attribute.Int64("rookery.generation", int64(id.Generation)),
	))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, errorType(ctx, err))
			span.SetAttributes(keyError.String(errorType(ctx, err)))
		}
		span.End()
	}
}
