package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

// copyLog starts the export of log lines.
func (t *Telemetry) copyLog(ctx context.Context, about *resource.Resource) error {
	if !pushes(os.Getenv, "LOGS") {
		return nil
	}
	exporter, err := autoexport.NewLogExporter(ctx)
	if err != nil {
		return fmt.Errorf("read the OTEL_* variables for logs: %w", err)
	}
	t.logs = sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)), sdklog.WithResource(about))
	return nil
}

// Log returns the process's log. A line within a trace gets the trace's id. If the variables name a collector, it gets a copy of each
// line except debug lines.
func (t *Telemetry) Log() *slog.Logger {
	lines := traced{t.log.Handler()}
	if t.logs == nil {
		return slog.New(lines)
	}
	copied := otelslog.NewHandler(module+"cmd/rookery", otelslog.WithLoggerProvider(t.logs))
	return slog.New(slog.NewMultiHandler(lines, informing{copied}))
}

// traced is a handler that adds the id of the trace to each line.
type traced struct{ slog.Handler }

// Handle implements slog.Handler.
func (h traced) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h traced) WithAttrs(attrs []slog.Attr) slog.Handler { return traced{h.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (h traced) WithGroup(name string) slog.Handler { return traced{h.Handler.WithGroup(name)} }

// informing is a handler that drops debug lines.
type informing struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h informing) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo && h.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h informing) WithAttrs(attrs []slog.Attr) slog.Handler {
	return informing{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h informing) WithGroup(name string) slog.Handler { return informing{h.Handler.WithGroup(name)} }
