package runner

import (
	"context"
	"errors"
	"io"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// measured is an engine whose calls are timed, except calls that last as long as the container, such as Logs.
type measured struct {
	node.Engine
	calls metric.Float64Histogram
}

// time calls the engine, and records the duration and the error.
func (e measured) time(ctx context.Context, call string, do func() error) error {
	began := time.Now()
	err := do()
	about := []attribute.KeyValue{keyCall.String(call)}
	if err != nil {
		about = append(about, keyError.String(errorType(ctx, err)))
	}
	e.calls.Record(context.WithoutCancel(ctx), time.Since(began).Seconds(), metric.WithAttributes(about...))
	return err
}

// errorType returns the value of the attribute error.type for a failure, one of a few words.
func errorType(ctx context.Context, err error) string {
	var failure *node.Failure
	switch {
	case errors.As(err, &failure):
		return string(failure.Reason)
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled) || ctx.Err() != nil:
		return "cancelled"
	}
	return "_OTHER" // OpenTelemetry's value for errors without a name
}

// Facts implements node.Engine.
func (e measured) Facts(ctx context.Context) (facts node.Facts, err error) {
	err = e.time(ctx, "facts", func() error { facts, err = e.Engine.Facts(ctx); return err })
	return facts, err
}

// Tidy implements node.Engine.
func (e measured) Tidy(ctx context.Context, owner node.Owner) error {
	return e.time(ctx, "tidy", func() error { return e.Engine.Tidy(ctx, owner) })
}

// List implements node.Engine.
func (e measured) List(ctx context.Context, owner node.Owner) (all []node.Container, err error) {
	err = e.time(ctx, "list", func() error { all, err = e.Engine.List(ctx, owner); return err })
	return all, err
}

// Inspect implements node.Engine.
func (e measured) Inspect(ctx context.Context, owner node.Owner, id events.InstanceID) (c *node.Container, err error) {
	err = e.time(ctx, "inspect", func() error { c, err = e.Engine.Inspect(ctx, owner, id); return err })
	return c, err
}

// Prepare implements node.Engine.
func (e measured) Prepare(ctx context.Context, plan node.Plan) (c node.Container, err error) {
	err = e.time(ctx, "prepare", func() error { c, err = e.Engine.Prepare(ctx, plan); return err })
	return c, err
}

// Start implements node.Engine.
func (e measured) Start(ctx context.Context, c node.Container) error {
	return e.time(ctx, "start", func() error { return e.Engine.Start(ctx, c) })
}

// Guard implements node.Engine.
func (e measured) Guard(ctx context.Context, heard time.Time, guarded []node.Guarded) error {
	return e.time(ctx, "guard", func() error { return e.Engine.Guard(ctx, heard, guarded) })
}

// Stop implements node.Engine.
func (e measured) Stop(ctx context.Context, c node.Container, grace time.Duration) error {
	return e.time(ctx, "stop", func() error { return e.Engine.Stop(ctx, c, grace) })
}

// Remove implements node.Engine.
func (e measured) Remove(ctx context.Context, c node.Container) error {
	return e.time(ctx, "remove", func() error { return e.Engine.Remove(ctx, c) })
}

// Check implements node.Engine.
func (e measured) Check(ctx context.Context, c node.Container, health events.Health, address string) error {
	return e.time(ctx, "check", func() error { return e.Engine.Check(ctx, c, health, address) })
}

// Tell implements node.Engine.
func (e measured) Tell(ctx context.Context, c node.Container, path string, document []byte) error {
	return e.time(ctx, "tell", func() error { return e.Engine.Tell(ctx, c, path, document) })
}

// Ask implements node.Engine.
func (e measured) Ask(ctx context.Context, c node.Container, hook events.Hook, asked node.Asked, address string) error {
	return e.time(ctx, "ask", func() error { return e.Engine.Ask(ctx, c, hook, asked, address) })
}

// Export implements node.Engine. It measures the time until the archive begins.
func (e measured) Export(ctx context.Context, c node.Container, path string) (archive io.ReadCloser, err error) {
	err = e.time(ctx, "export", func() error { archive, err = e.Engine.Export(ctx, c, path); return err })
	return archive, err
}

// Usage implements node.Engine.
func (e measured) Usage(ctx context.Context, c node.Container, scratch string) (u node.Usage, err error) {
	err = e.time(ctx, "usage", func() error { u, err = e.Engine.Usage(ctx, c, scratch); return err })
	return u, err
}

// Output implements node.Engine.
func (e measured) Output(ctx context.Context, c node.Container) (lines []byte, err error) {
	err = e.time(ctx, "output", func() error { lines, err = e.Engine.Output(ctx, c); return err })
	return lines, err
}

// Stats implements node.Engine.
func (e measured) Stats(ctx context.Context) (all map[string]node.Stats, err error) {
	err = e.time(ctx, "stats", func() error { all, err = e.Engine.Stats(ctx); return err })
	return all, err
}
