package runner

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// Keys of attributes.
const (
	keyNode      = attribute.Key("rookery.node")
	keyCall      = attribute.Key("rookery.engine.call")
	keyPhase     = attribute.Key("rookery.phase")
	keyReason    = attribute.Key("rookery.reason")
	keyNamespace = attribute.Key("rookery.namespace")
	keyService   = attribute.Key("rookery.service")
	keyOrdinal   = attribute.Key("rookery.ordinal")
	keyDirection = attribute.Key("network.io.direction")
	keyError     = attribute.Key("error.type")
)

// Bounds of the histograms' buckets, in seconds, both for quick calls and for calls that create containers.
var bounds = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}

// meters are the node's instruments. The node never reads them, so they do not change what it does.
type meters struct {
	meter                                     metric.Meter
	calls, heartbeats                         metric.Float64Histogram
	restarts                                  metric.Int64Counter
	containers                                metric.Int64ObservableUpDownCounter
	silence                                   metric.Float64ObservableGauge
	capacityCPU, usedCPU, processCPU          metric.Float64ObservableGauge
	capacityMemory, usedMemory, processMemory metric.Int64ObservableUpDownCounter
	capacityDisk, processDisk                 metric.Int64ObservableUpDownCounter
	processNetwork                            metric.Int64ObservableCounter
	all                                       []metric.Observable
	node                                      attribute.KeyValue
}

// maker makes instruments of a node, and collects errors.
type maker struct {
	meter metric.Meter
	all   []metric.Observable
	errs  []error
}

func made[T any](m *maker, instrument T, err error) T {
	m.errs = append(m.errs, err)
	if observable, ok := any(instrument).(metric.Observable); ok {
		m.all = append(m.all, observable)
	}
	return instrument
}

func (m *maker) seconds(name, what string) metric.Float64Histogram {
	h, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what), metric.WithExplicitBucketBoundaries(bounds...))
	return made(m, h, err)
}

func (m *maker) gauge(name, unit, what string) metric.Float64ObservableGauge {
	g, err := m.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(what))
	return made(m, g, err)
}

func (m *maker) level(name, unit, what string) metric.Int64ObservableUpDownCounter {
	c, err := m.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(what))
	return made(m, c, err)
}

// newMeters makes the instruments of a node; without a meter they measure nothing.
func newMeters(meter metric.Meter, name string) (*meters, error) {
	if meter == nil {
		meter = noop.Meter{}
	}
	m := &maker{meter: meter}
	restarts, err := meter.Int64Counter("rookery.node.restarts", metric.WithUnit("{restart}"),
		metric.WithDescription("Attempts to bring an instance up that follow one which has ended or failed."))
	m.errs = append(m.errs, err)
	network, err := meter.Int64ObservableCounter("rookery.process.network.io", metric.WithUnit("By"),
		metric.WithDescription("Bytes that went over the network of an instance since it started."))
	all := &meters{
		meter: meter, restarts: restarts, processNetwork: made(m, network, err), node: keyNode.String(name),
		calls:          m.seconds("rookery.engine.call.duration", "How long calls of the engine took; those with an error failed."),
		heartbeats:     m.seconds("rookery.node.heartbeat.duration", "How long the leader took to answer heartbeats."),
		silence:        m.gauge("rookery.node.heartbeat.age", "s", "How long ago the last heartbeat was sent that was answered."),
		containers:     m.level("rookery.node.containers", "{container}", "Instances of a node, by how far they are."),
		capacityCPU:    m.gauge("rookery.node.capacity.cpu", "{cpu}", "CPU that a node has."),
		capacityMemory: m.level("rookery.node.capacity.memory", "By", "Memory that a node has."),
		capacityDisk:   m.level("rookery.node.capacity.disk", "By", "Disk that a node has."),
		usedCPU:        m.gauge("rookery.node.used.cpu", "{cpu}", "CPU that the instances of a node use."),
		usedMemory:     m.level("rookery.node.used.memory", "By", "Memory that the instances of a node use."),
		processCPU:     m.gauge("rookery.process.cpu.usage", "{cpu}", "CPU that an instance uses, to the billionth of a core."),
		processMemory:  m.level("rookery.process.memory.usage", "By", "Memory that an instance uses."),
		processDisk:    m.level("rookery.process.disk.usage", "By", "Disk that an instance uses, where that is measured."),
	}
	all.all = m.all
	return all, errors.Join(m.errs...)
}

// restarted counts an attempt that follows another one.
func (m *meters) restarted(ctx context.Context, before, after node.View) {
	if after.Attempt > before.Attempt && before.Reason != "" {
		m.restarts.Add(ctx, 1, metric.WithAttributes(m.node, keyReason.String(string(before.Reason))))
	}
}

// beaten records how long a heartbeat took.
func (m *meters) beaten(ctx context.Context, took time.Duration, err error) {
	about := []attribute.KeyValue{m.node}
	if err != nil {
		about = append(about, keyError.String(errorType(ctx, err)))
	}
	m.heartbeats.Record(context.WithoutCancel(ctx), took.Seconds(), metric.WithAttributes(about...))
}

// gaugeTimeout is how long a collection waits for the loop.
const gaugeTimeout = 2 * time.Second

// observe registers the node's current state for each collection of metrics, until stop is called or ctx ends.
func (a *Agent) observe(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	registration, err := a.meters.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		a.collect(ctx, o)
		return nil
	}, a.meters.all...)
	if err != nil {
		cancel()
		return nil, err
	}
	return func() {
		cancel() // else Unregister would wait for a collection that is under way
		if err := registration.Unregister(); err != nil {
			a.Log.Warn("instruments are still registered", "error", err)
		}
	}, nil
}

// levels are the values that the loop reports for one collection.
type levels struct {
	phases map[events.Phase]int
	heard  time.Time
}

// standing asks the loop for its current values. It reports false if the loop does not answer within gaugeTimeout.
func (a *Agent) standing(ctx context.Context) (l levels, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, gaugeTimeout)
	defer cancel()
	told := make(chan levels, 1)
	a.tell(ctx, func() {
		l := levels{phases: map[events.Phase]int{}, heard: a.hearing.answered}
		for _, in := range a.instances {
			l.phases[in.view.Phase]++
		}
		told <- l
	})
	select {
	case l = <-told:
		return l, true
	case <-ctx.Done():
		return levels{}, false
	}
}

func (a *Agent) collect(ctx context.Context, o metric.Observer) {
	m := a.meters
	at := metric.WithAttributes(m.node)
	o.ObserveFloat64(m.capacityCPU, a.Facts.Capacity.CPU, at)
	o.ObserveInt64(m.capacityMemory, int64(a.Facts.Capacity.Memory), at)
	o.ObserveInt64(m.capacityDisk, int64(a.Facts.Capacity.Disk), at)
	a.sampler.observe(m, o)
	l, ok := a.standing(ctx)
	if !ok {
		return
	}
	for phase := events.PhasePlaced; phase <= events.PhaseRemoved; phase++ {
		o.ObserveInt64(m.containers, int64(l.phases[phase]), metric.WithAttributes(m.node, keyPhase.String(phase.String())))
	}
	if !l.heard.IsZero() {
		o.ObserveFloat64(m.silence, time.Since(l.heard).Seconds(), at)
	}
}
