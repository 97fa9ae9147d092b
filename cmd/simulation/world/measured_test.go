package world

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// collecting has each process of a run measure, and somebody collect that every few seconds.
type collecting struct {
	ctx   context.Context
	going sync.WaitGroup
	mu    sync.Mutex
	// names are those of all metrics that were collected, and times is how often.
	names map[string]bool
	times int
}

func (c *collecting) meter() metric.Meter {
	const every = 7 * time.Second
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	c.going.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-c.ctx.Done():
				return
			case <-ticker.C:
				c.collect(reader)
			}
		}
	})
	return provider.Meter("world")
}

func (c *collecting) collect(reader *sdk.ManualReader) {
	var all metricdata.ResourceMetrics
	if reader.Collect(c.ctx, &all) != nil {
		return // the run is over
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times++
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			c.names[m.Name] = true
		}
	}
}

// TestNothingIsDecidedByWhatIsMeasured runs plans with instruments that are collected all the time, and without any, and holds the logs
// to be one.
func TestNothingIsDecidedByWhatIsMeasured(t *testing.T) {
	for seed := range uint64(3) {
		plan := beginning(seed + 1)
		without := Run(t, plan)
		var with Result
		c := &collecting{names: map[string]bool{}}
		synctest.Test(t, func(*testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			c.ctx = ctx
			w := newWorld(plan, nil)
			w.meter = c.meter
			w.live()
			with = w.result
			cancel()
			c.going.Wait()
		})
		if with.Log != without.Log || with.Rounds != without.Rounds || with.Digest != without.Digest {
			t.Errorf("seed %d: measured, the log has %d rounds and hash %s; not measured, %d and %s",
				seed+1, with.Rounds, with.Log, without.Rounds, without.Log)
		}
		for _, name := range []string{"rookery.coordinator.rounds", "rookery.service.desired", "rookery.engine.call.duration", "rookery.node.containers"} {
			if !c.names[name] {
				t.Errorf("seed %d: %s was not measured in %d collections: the run proves nothing", seed+1, name, c.times)
			}
		}
		if len(with.Broken) > 0 || with.Rounds == 0 {
			t.Errorf("seed %d: %d rounds, and broken is %v", seed+1, with.Rounds, with.Broken)
		}
	}
}
