package world

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rookery-project/rookery/events"
)

// collecting collects the metrics of each process of a run every few seconds.
type collecting struct {
	ctx   context.Context
	going sync.WaitGroup
	mu    sync.Mutex
	// names are those of all metrics that were collected.
	names map[string]bool
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
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			c.names[m.Name] = true
		}
	}
}

// traced returns the plan with a trace context in each command.
func traced(p Plan) Plan {
	p.Actions = slices.Clone(p.Actions)
	for i, a := range p.Actions {
		if a.Kind != Command {
			continue
		}
		header := map[string]string{"traceparent": fmt.Sprintf("00-%032x-%016x-01", i+1, i+1)}
		maps.Copy(header, a.Header)
		p.Actions[i].Header = header
	}
	return p
}

// measured is a run with all metrics, spans and samples, and what they were.
type measured struct {
	Result
	metrics map[string]bool
	spans   map[string]bool
	// samples is how many times a node has published what an instance uses.
	samples int
}

// runMeasured runs the plan with instruments that are collected all the time, a tracer, and nodes that measure what instances use.
func runMeasured(t *testing.T, plan Plan) (all measured) {
	const every = 11 * time.Second
	c := &collecting{names: map[string]bool{}}
	all.metrics, all.spans = c.names, map[string]bool{}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		c.ctx = ctx
		recorder, script := tracetest.NewSpanRecorder(), &strings.Builder{}
		w := newWorld(plan, script)
		w.meter, w.sampleEvery = c.meter, every
		w.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("world")
		samples, err := w.server.Subscribe(events.MetricRoot + ".>")
		if err != nil {
			t.Fatal(err)
		}
		w.live()
		samples.Stop()
		cancel()
		c.going.Wait()
		all.Result, all.samples = w.result, len(samples.Messages())
		all.Script = script.String()
		for _, span := range recorder.Ended() {
			all.spans[span.Name()] = true
		}
	})
	return all
}

// unlike returns the first lines in which two transcripts differ, or "". It skips the lines in which nodes that measure report that they
// cannot.
func unlike(with, without string) (one, other string) {
	ones := slices.DeleteFunc(strings.Split(with, "\n"), func(line string) bool { return strings.Contains(line, "what instances use") })
	others := strings.Split(without, "\n")
	for i := range max(len(ones), len(others)) {
		if one, other = lineOf(ones, i), lineOf(others, i); one != other {
			return one, other
		}
	}
	return "", ""
}

func lineOf(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}

// TestNothingIsDecidedByWhatIsMeasured runs plans with all metrics, spans and samples, and without any. Both runs must be the same: each
// event of the log, each order and each step of an engine, at its time.
func TestNothingIsDecidedByWhatIsMeasured(t *testing.T) {
	for seed := range uint64(3) {
		plan := traced(beginning(seed + 1))
		without, with := Script(t, plan), runMeasured(t, plan)
		if with.Log != without.Log || with.Rounds != without.Rounds || with.Digest != without.Digest {
			t.Errorf("seed %d: with measurements the log has %d rounds and hash %s; without, %d and %s",
				seed+1, with.Rounds, with.Log, without.Rounds, without.Log)
		}
		if one, other := unlike(with.Script, without.Script); one != other {
			t.Errorf("seed %d: the run with measurements has\n%s\nand the run without has\n%s", seed+1, one, other)
		}
		for _, kind := range []string{" in ROOKERY_LOG: ", " in ROOKERY_ORDERS: ", " has its engine start "} {
			if !strings.Contains(without.Script, kind) {
				t.Errorf("seed %d: the transcript has no line with %q: the run proves nothing", seed+1, kind)
			}
		}
		for _, name := range []string{
			"rookery.coordinator.rounds", "rookery.service.desired", "rookery.engine.call.duration", "rookery.node.containers",
			"rookery.process.memory.usage", "rookery.process.cpu.usage",
		} {
			if !with.metrics[name] {
				t.Errorf("seed %d: %s was not measured: the run proves nothing", seed+1, name)
			}
		}
		for _, name := range []string{"rookery round", "rookery prepare", "rookery start", "rookery status"} {
			if !with.spans[name] {
				t.Errorf("seed %d: no span is a %s: the run proves nothing", seed+1, name)
			}
		}
		if with.samples == 0 {
			t.Errorf("seed %d: no node has published what an instance uses: the run proves nothing", seed+1)
		}
		if len(with.Broken) > 0 || with.Rounds == 0 {
			t.Errorf("seed %d: %d rounds, and broken is %v", seed+1, with.Rounds, with.Broken)
		}
	}
}
