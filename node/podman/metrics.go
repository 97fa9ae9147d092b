package podman

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/rookery-project/rookery/node"
)

// pullBounds are those of the histogram's buckets, in seconds.
var pullBounds = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}

// pulls are the instruments of image pulls.
type pulls struct {
	lasted metric.Float64Histogram
	node   attribute.KeyValue
}

// Measure has pulls of images be measured as those of the node. It is called before the engine is used; without a meter nothing is
// measured.
func (e *Engine) Measure(meter metric.Meter, node string) error {
	if meter == nil {
		meter = noop.Meter{}
	}
	lasted, err := meter.Float64Histogram("rookery.image.pull.duration", metric.WithUnit("s"),
		metric.WithDescription("How long images took to be had; those with an error failed."), metric.WithExplicitBucketBoundaries(pullBounds...))
	if err != nil {
		return err
	}
	e.pulls = &pulls{lasted, attribute.String("rookery.node", node)}
	return nil
}

// done notes the end of a pull.
func (p *pulls) done(ctx context.Context, took time.Duration, err error) {
	if p == nil {
		return
	}
	about := []attribute.KeyValue{p.node}
	if err != nil {
		about = append(about, attribute.String("error.type", pullError(ctx, err)))
	}
	p.lasted.Record(context.WithoutCancel(ctx), took.Seconds(), metric.WithAttributes(about...))
}

// pullError names a failure for machines.
func pullError(ctx context.Context, err error) string {
	var failed *node.Failure
	switch {
	case errors.As(err, &failed):
		return string(failed.Reason)
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case ctx.Err() != nil:
		return "cancelled"
	}
	return "_OTHER"
}
