package backup

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// Schedule takes backups at an interval.
type Schedule struct {
	Source Source
	Store  Store
	// Every is the time from one backup to the next, and Keep how many are kept.
	Every time.Duration
	Keep  int
	Log   *slog.Logger
	// Meter makes the instruments; nil to measure nothing.
	Meter metric.Meter
}

// retryAfter is how long Run waits after a backup that failed, if the interval is not shorter.
const retryAfter = time.Minute

// Run takes backups until ctx ends. The first one is due an interval after the newest one in the store. A backup that fails is logged and tried
// again; how old the newest one is shows as a metric.
func (s Schedule) Run(ctx context.Context) error {
	var last atomic.Pointer[time.Time]
	begun := s.Source.Now()
	last.Store(&begun)
	unobserve, err := s.observe(&last)
	if err != nil {
		return err
	}
	defer unobserve()
	wait := s.firstDue(ctx, &last)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		wait = s.Every
		if err := s.take(ctx, &last); err != nil && ctx.Err() == nil {
			s.Log.Error("no backup was taken", "error", err, "age", s.Source.Now().Sub(*last.Load()).Round(time.Second),
				"advice", "repair what the error names; it is tried again")
			wait = min(retryAfter, s.Every)
		}
	}
}

// firstDue returns how long it is until the first backup is due, and notes the newest one that there is.
func (s Schedule) firstDue(ctx context.Context, last *atomic.Pointer[time.Time]) time.Duration {
	all, err := List(ctx, s.Store)
	all = slices.DeleteFunc(all, func(b Backup) bool { return b.Err != nil })
	if err != nil || len(all) == 0 {
		return 0 // taking one says what is wrong
	}
	last.Store(&all[0].Taken)
	return max(s.Every-s.Source.Now().Sub(all[0].Taken), 0)
}

func (s Schedule) take(ctx context.Context, last *atomic.Pointer[time.Time]) error {
	m, err := Take(ctx, s.Source, s.Store)
	if err != nil {
		return err
	}
	last.Store(&m.Taken)
	s.Log.Info("took a backup", "name", m.Name(), "sequence", m.Sequence, "bytes", m.Bytes(), "missing", len(m.Missing))
	if err := Prune(ctx, s.Store, s.Keep, s.Source.Now()); err != nil {
		s.Log.Error("older backups were not removed", "error", err, "advice", "allow this coordinator to delete files there; it is tried again after the next backup")
	}
	return nil
}

// observe measures the age of the newest backup beside the interval.
func (s Schedule) observe(last *atomic.Pointer[time.Time]) (stop func(), err error) {
	meter := s.Meter
	if meter == nil {
		meter = noop.Meter{}
	}
	age, err := meter.Float64ObservableGauge("rookery.backup.age", metric.WithUnit("s"),
		metric.WithDescription("How old the newest backup of this coordinator is, or how long the coordinator has run without one."))
	if err != nil {
		return nil, err
	}
	interval, err := meter.Float64ObservableGauge("rookery.backup.interval", metric.WithUnit("s"),
		metric.WithDescription("The time from one backup of this coordinator to the next."))
	if err != nil {
		return nil, err
	}
	registration, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveFloat64(age, max(s.Source.Now().Sub(*last.Load()), 0).Seconds())
		o.ObserveFloat64(interval, s.Every.Seconds())
		return nil
	}, age, interval)
	if err != nil {
		return nil, err
	}
	return func() { _ = registration.Unregister() }, nil // it fails where it is not registered any more
}
