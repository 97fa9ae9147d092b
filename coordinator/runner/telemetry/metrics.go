package telemetry

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// Bounds of the histograms' buckets, in seconds except the last: for what the loop does itself, for what waits for nodes and operators, for
// what waits for a leader, and for counts.
var (
	quick  = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}
	slow   = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
	ages   = append(slices.Clone(quick), 10, 30, 60, 300, 900)
	counts = []float64{0, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000}
)

// Keys of attributes.
const (
	keyStream    = attribute.Key("rookery.stream")
	keyRole      = attribute.Key("rookery.role")
	keyReached   = attribute.Key("rookery.reached")
	keyPhase     = attribute.Key("rookery.phase")
	keyKind      = attribute.Key("rookery.operation")
	keyOutcome   = attribute.Key("rookery.outcome")
	keyVerb      = attribute.Key("rookery.verb")
	keyReason    = attribute.Key("rookery.reason")
	keyWork      = attribute.Key("rookery.work")
	keyScope     = attribute.Key("rookery.scope")
	keyState     = attribute.Key("rookery.state")
	keyNamespace = attribute.Key("rookery.namespace")
	keyService   = attribute.Key("rookery.service")
	keyNode      = attribute.Key("rookery.node")
	keyOrdinal   = attribute.Key("rookery.ordinal")
	// keyOverflow marks the series of everything without a series of its own, as OpenTelemetry's SDK does.
	keyOverflow = attribute.Key("otel.metric.overflow")
)

// Meters are the coordinator's instruments. The coordinator never reads them, so its decisions do not depend on them.
type Meters struct {
	rounds, placements, moves, evictions metric.Int64Counter
	terms                                metric.Int64Counter
	commands, operations                 metric.Int64Counter
	inputs, events                       metric.Int64Histogram
	decide, append, age, scheduling      metric.Float64Histogram
	barrier, spread                      metric.Float64Histogram
	leading, outdated                    atomic.Bool
	answering                            atomic.Int64
	lags                                 lags
	gauges                               gauges
	meter                                metric.Meter
	tally                                *tally
}

// maker makes instruments, and collects errors.
type maker struct {
	meter metric.Meter
	errs  []error
}

func made[T any](m *maker, instrument T, err error) T {
	m.errs = append(m.errs, err)
	return instrument
}

func (m *maker) counter(name, unit, what string) metric.Int64Counter {
	c, err := m.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
	return made(m, c, err)
}

func (m *maker) seconds(name, what string, bounds []float64) metric.Float64Histogram {
	h, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what), metric.WithExplicitBucketBoundaries(bounds...))
	return made(m, h, err)
}

func (m *maker) many(name, unit, what string) metric.Int64Histogram {
	h, err := m.meter.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(what), metric.WithExplicitBucketBoundaries(counts...))
	return made(m, h, err)
}

// New makes the instruments; without a meter they measure nothing.
func New(meter metric.Meter) (*Meters, error) {
	if meter == nil {
		meter = noop.Meter{}
	}
	m := &maker{meter: meter}
	all := &Meters{
		meter:      meter,
		rounds:     m.counter("rookery.coordinator.rounds", "{round}", "Rounds that were appended to the log."),
		terms:      m.counter("rookery.coordinator.terms", "{term}", "Times that this coordinator began to lead."),
		placements: m.counter("rookery.placements", "{instance}", "Instances that were placed on a node."),
		moves:      m.counter("rookery.moves", "{instance}", "Instances that a rebalancing has moved to another node."),
		evictions:  m.counter("rookery.evictions", "{instance}", "Instances that could not stay on their node."),
		commands:   m.counter("rookery.commands", "{command}", "Commands that have ended."),
		operations: m.counter("rookery.operations", "{operation}", "Operations that have ended."),
		inputs:     m.many("rookery.coordinator.round.inputs", "{message}", "Inputs that one round took."),
		events:     m.many("rookery.coordinator.round.events", "{event}", "Events that one round decided."),
		decide:     m.seconds("rookery.coordinator.decide.duration", "How long it took to decide a round.", quick),
		append:     m.seconds("rookery.coordinator.append.duration", "How long it took to append a round to the log.", quick),
		age:        m.seconds("rookery.coordinator.input.age", "How old an input was when its round was in the log.", ages),
		scheduling: m.seconds("rookery.scheduling.duration", "From when a slot lacks an instance until it is placed, or first online.", slow),
		barrier:    m.seconds("rookery.barrier.duration", "How long all participants of an operation took for a phase.", slow),
		spread:     m.seconds("rookery.barrier.spread", "How long the first that was done with a phase waited for the slowest.", slow),
	}
	all.gauges.make(m)
	return all, errors.Join(m.errs...)
}

// Round is a round that is in the log: its inputs, its events, and how long it took to decide and to append them.
type Round struct {
	Commands, Statuses []events.Message
	Records            []events.Record
	Decide, Append     time.Duration
}

// Round counts a round that is in the log; c is the state after it.
func (m *Meters) Round(ctx context.Context, r Round, now time.Time, c *projections.Cluster) {
	m.rounds.Add(ctx, 1)
	m.inputs.Record(ctx, int64(len(r.Commands)+len(r.Statuses)))
	m.events.Record(ctx, int64(len(r.Records)))
	m.decide.Record(ctx, r.Decide.Seconds())
	m.append.Record(ctx, r.Append.Seconds())
	m.ages(ctx, bus.Commands, r.Commands, now)
	m.ages(ctx, bus.Statuses, r.Statuses, now)
	m.count(ctx, m.tally.of(c, r.Records))
}

// ages notes how long the messages of a stream have waited for their round.
func (m *Meters) ages(ctx context.Context, stream bus.Stream, messages []events.Message, now time.Time) {
	at := metric.WithAttributeSet(attribute.NewSet(keyStream.String(string(stream))))
	for _, message := range messages {
		m.age.Record(ctx, max(now.Sub(message.Time), 0).Seconds(), at)
	}
}

func (m *Meters) count(ctx context.Context, f figures) {
	m.placements.Add(ctx, int64(f.placed))
	m.moves.Add(ctx, int64(f.moved))
	for why, n := range f.evicted {
		m.evictions.Add(ctx, int64(n), metric.WithAttributes(keyReason.String(string(why))))
	}
	for end, n := range f.commands {
		m.commands.Add(ctx, int64(n), metric.WithAttributes(keyVerb.String(end.verb), keyOutcome.String(string(end.outcome))))
	}
	for end, n := range f.operations {
		m.operations.Add(ctx, int64(n), metric.WithAttributes(keyKind.String(string(end.kind)), keyOutcome.String(string(end.outcome))))
	}
	for _, s := range f.scheduled {
		m.scheduling.Record(ctx, s.lasted.Seconds(), metric.WithAttributes(keyReached.String(s.reached)))
	}
	for _, x := range f.crossed {
		at := metric.WithAttributes(keyPhase.String(string(x.phase)))
		m.barrier.Record(ctx, x.lasted.Seconds(), at)
		if x.spread != nil {
			m.spread.Record(ctx, x.spread.Seconds(), at)
		}
	}
}

// Leads begins the counters of a term with the state that the leader takes over.
func (m *Meters) Leads(ctx context.Context, c *projections.Cluster) {
	m.terms.Add(ctx, 1)
	m.tally = newTally(c)
	m.leading.Store(true)
}

// StandsBy stops the figures that only the leader reports.
func (m *Meters) StandsBy() {
	m.leading.Store(false)
	m.answering.Store(0)
	m.lags.forget()
}

// Outdated says whether this coordinator waits to be replaced by another version.
func (m *Meters) Outdated(waits bool) { m.outdated.Store(waits) }

// Lag notes where a stream ends at a time, and up to which message it is decided.
func (m *Meters) Lag(stream bus.Stream, last, decided uint64, now time.Time) {
	m.lags.look(stream, last, decided, now)
}

// Answering notes how many nodes sent a heartbeat within the last interval.
func (m *Meters) Answering(nodes int) { m.answering.Store(int64(nodes)) }

// mostMarks bounds how many ends of a stream are remembered: an hour of checks.
const mostMarks = 720

// mark is where a stream ended at a time.
type mark struct {
	at   time.Time
	last uint64
}

// lags are how far the decisions are behind each inbox. The loop writes them, and collectors of metrics read them.
type lags struct {
	mu    sync.Mutex
	marks map[bus.Stream][]mark // not decided yet, oldest first
	lag   map[bus.Stream]lag
}

// lag is how far the decisions are behind a stream: in messages, and in the time that the oldest of them has waited at least.
type lag struct {
	messages uint64
	lasts    time.Duration
}

// look notes where a stream ends at a time, and up to which message it is decided.
func (l *lags) look(stream bus.Stream, last, decided uint64, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lag == nil {
		l.marks, l.lag = map[bus.Stream][]mark{}, map[bus.Stream]lag{}
	}
	marks := l.marks[stream]
	for len(marks) > 0 && marks[0].last <= decided {
		marks = marks[1:]
	}
	if last <= decided {
		l.marks[stream], l.lag[stream] = nil, lag{}
		return
	}
	if len(marks) < mostMarks {
		marks = append(marks, mark{now, last})
	}
	l.marks[stream], l.lag[stream] = marks, lag{last - decided, now.Sub(marks[0].at)}
}

func (l *lags) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.marks)
	clear(l.lag)
}

// each yields the streams in order.
func (l *lags) each(yield func(bus.Stream, lag) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, stream := range bus.Streams {
		if known, ok := l.lag[stream]; ok && !yield(stream, known) {
			return
		}
	}
}
