package bus

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// infoTimeout bounds the questions to the server about its streams, at each collection of the metrics.
const infoTimeout = 2 * time.Second

// Observe measures the streams at each collection of the metrics, until stop is called or ctx ends. Without a meter it measures nothing.
func (b *JetStream) Observe(ctx context.Context, meter metric.Meter) (stop func(), err error) {
	if meter == nil {
		meter = noop.Meter{}
	}
	messages, err := meter.Int64ObservableGauge("rookery.stream.messages", metric.WithUnit("{message}"),
		metric.WithDescription("Messages that a stream has."))
	if err != nil {
		return nil, err
	}
	size, err := meter.Int64ObservableGauge("rookery.stream.size", metric.WithUnit("By"),
		metric.WithDescription("Bytes that a stream takes on disk or in memory."))
	if err != nil {
		return nil, err
	}
	limit, err := meter.Int64ObservableGauge("rookery.stream.limit", metric.WithUnit("By"),
		metric.WithDescription("The most that a stream may take; missing where it has no bound."))
	if err != nil {
		return nil, err
	}
	used, err := meter.Int64ObservableGauge("rookery.storage.used", metric.WithUnit("By"),
		metric.WithDescription("Bytes that the whole account takes on disk."))
	if err != nil {
		return nil, err
	}
	most, err := meter.Int64ObservableGauge("rookery.storage.limit", metric.WithUnit("By"),
		metric.WithDescription("The most that the account may take on disk; missing where it has no bound."))
	if err != nil {
		return nil, err
	}
	registration, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		call, cancel := context.WithTimeout(ctx, infoTimeout)
		defer cancel()
		for _, stream := range Streams {
			handle, err := b.js.Stream(call, string(stream))
			if err != nil {
				continue // the stream is missing, or the server does not answer: there is nothing to report
			}
			info := handle.CachedInfo()
			at := metric.WithAttributes(attribute.String("rookery.stream", string(stream)))
			o.ObserveInt64(messages, int64(info.State.Msgs), at)
			o.ObserveInt64(size, int64(info.State.Bytes), at)
			if info.Config.MaxBytes > 0 {
				o.ObserveInt64(limit, info.Config.MaxBytes, at)
			}
		}
		if room, err := b.Room(call); err == nil {
			o.ObserveInt64(used, int64(room.Used)) //nolint:gosec // no disk has that much
			if room.Most > 0 {
				o.ObserveInt64(most, int64(room.Most)) //nolint:gosec // it was one before
			}
		}
		return nil
	}, messages, size, limit, used, most)
	if err != nil {
		return nil, err
	}
	return func() { _ = registration.Unregister() }, nil // it fails where it is not registered any more
}
