package telemetry

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// gaugeTimeout is how long a collection waits for the loop. If the loop does not get to it, the collection lacks these gauges.
const gaugeTimeout = 2 * time.Second

// gauges are the instruments of levels, which are computed at each collection. Only the leader reports them, except the role, the quorum and
// the sequence.
type gauges struct {
	sequence, role, quorum, state      metric.Int64ObservableGauge
	lag, open, answering, shunned      metric.Int64ObservableUpDownCounter
	nodes, pending                     metric.Int64ObservableUpDownCounter
	desired, online, waiting           metric.Int64ObservableUpDownCounter
	waits, lagTime, phaseTime, overdue metric.Float64ObservableGauge
	awaited                            metric.Int64ObservableUpDownCounter
	allocatableCPU, reservedCPU        metric.Float64ObservableUpDownCounter
	allocatableMemory, reservedMemory  metric.Int64ObservableUpDownCounter
	allocatableDisk, reservedDisk      metric.Int64ObservableUpDownCounter
	all                                []metric.Observable
}

func (m *maker) level(name, unit, what string) metric.Int64ObservableUpDownCounter {
	c, err := m.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(what))
	return made(m, c, err)
}

func (m *maker) gauge(name, unit, what string) metric.Int64ObservableGauge {
	g, err := m.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(what))
	return made(m, g, err)
}

func (m *maker) since(name, what string) metric.Float64ObservableGauge {
	g, err := m.meter.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(what))
	return made(m, g, err)
}

func (m *maker) cores(name, what string) metric.Float64ObservableUpDownCounter {
	c, err := m.meter.Float64ObservableUpDownCounter(name, metric.WithUnit("{cpu}"), metric.WithDescription(what))
	return made(m, c, err)
}

func (g *gauges) make(m *maker) {
	*g = gauges{
		sequence:          m.gauge("rookery.fold.sequence", "{event}", "The place in the log that this coordinator's state is true at."),
		role:              m.gauge("rookery.coordinator.role", "{coordinator}", "1 for the role that this coordinator has, 0 for the others."),
		quorum:            m.gauge("rookery.bus.quorum", "{quorum}", "1 if enough NATS servers run to agree, 0 if one says that they do not, none if none answers."),
		state:             m.gauge("rookery.node.state", "{node}", "1 for the state that a node has for placement."),
		lag:               m.level("rookery.coordinator.lag", "{message}", "Messages of a stream that are not decided yet."),
		lagTime:           m.since("rookery.coordinator.lag.duration", "How long the oldest undecided message has waited, as far as that was seen."),
		open:              m.level("rookery.commands.open", "{command}", "Commands that were accepted and have not ended."),
		shunned:           m.level("rookery.units.shunned", "{unit}", "Units of work that the coordinator skips because of a defect of its own."),
		answering:         m.level("rookery.nodes.answering", "{node}", "Nodes that sent a heartbeat within the last interval."),
		nodes:             m.level("rookery.nodes", "{node}", "Nodes by their state for placement."),
		pending:           m.level("rookery.pending", "{instance}", "Slots without an instance, by the reason that most nodes have."),
		desired:           m.level("rookery.service.desired", "{instance}", "Slots of a service that should have an instance."),
		online:            m.level("rookery.service.online", "{instance}", "Slots of a service that serve."),
		waiting:           m.level("rookery.service.pending", "{instance}", "Slots of a service without an instance."),
		waits:             m.since("rookery.service.pending.duration", "How long a slot of a service has found no node."),
		phaseTime:         m.since("rookery.operation.phase.duration", "How long an operation has been in its phase."),
		overdue:           m.since("rookery.operation.overdue", "How far an operation's phase is past its deadline."),
		awaited:           m.level("rookery.operation.awaited", "{instance}", "Slots that an operation's phase waits for; the attributes name the first."),
		allocatableCPU:    m.cores("rookery.node.allocatable.cpu", "CPU of a node that instances may use."),
		allocatableMemory: m.level("rookery.node.allocatable.memory", "By", "Memory of a node that instances may use."),
		allocatableDisk:   m.level("rookery.node.allocatable.disk", "By", "Disk of a node that instances may use."),
		reservedCPU:       m.cores("rookery.node.reserved.cpu", "CPU of a node that is reserved for its instances."),
		reservedMemory:    m.level("rookery.node.reserved.memory", "By", "Memory of a node that is reserved for its instances."),
		reservedDisk:      m.level("rookery.node.reserved.disk", "By", "Disk of a node that is reserved for its instances."),
	}
	g.all = []metric.Observable{
		g.sequence, g.role, g.quorum, g.state, g.lag, g.lagTime, g.open, g.shunned, g.answering, g.nodes, g.pending, g.desired, g.online, g.waiting,
		g.waits,
		g.phaseTime, g.overdue, g.awaited, g.allocatableCPU, g.allocatableMemory, g.allocatableDisk,
		g.reservedCPU, g.reservedMemory, g.reservedDisk,
	}
}

// State hands the state as of the last whole round to a function that only reads it, between two rounds, as api.State does.
type State = func(ctx context.Context, read func(c *projections.Cluster, leading bool)) error

// Observe computes the levels of the state at each collection of metrics, until stop is called or ctx ends.
func (m *Meters) Observe(ctx context.Context, log *slog.Logger, now func() time.Time, quorum func() (stands, known bool), state State) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	registration, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		if stands, known := quorum(); known {
			o.ObserveInt64(m.gauges.quorum, map[bool]int64{true: 1}[stands])
		}
		m.collect(ctx, o, now, state)
		return nil
	}, m.gauges.all...)
	if err != nil {
		cancel()
		return nil, err
	}
	return func() {
		cancel() // Unregister waits for a collection in progress
		if err := registration.Unregister(); err != nil {
			log.Warn("instruments are still registered", "error", err)
		}
	}, nil
}

// collect asks the loop as any question does: between two rounds, and without effect on its decisions.
func (m *Meters) collect(ctx context.Context, o metric.Observer, now func() time.Time, state State) {
	leads, outdated := m.leading.Load(), m.outdated.Load()
	for role, has := range map[string]bool{"leader": leads, "standby": !leads && !outdated, "outdated": outdated} {
		o.ObserveInt64(m.gauges.role, map[bool]int64{true: 1}[has], metric.WithAttributes(keyRole.String(role)))
	}
	ctx, cancel := context.WithTimeout(ctx, gaugeTimeout)
	defer cancel()
	var l levels
	var leading bool
	if err := state(ctx, func(c *projections.Cluster, leads bool) {
		if leading = leads; leading {
			l = levelsOf(c, now())
		}
		l.sequence = c.Sequence
	}); err != nil {
		return
	}
	o.ObserveInt64(m.gauges.sequence, int64(l.sequence))
	if leading {
		m.tell(o, l)
	}
}

func (m *Meters) tell(o metric.Observer, l levels) {
	g := &m.gauges
	for stream, lag := range m.lags.each {
		at := metric.WithAttributes(keyStream.String(string(stream)))
		o.ObserveInt64(g.lag, int64(lag.messages), at)
		o.ObserveFloat64(g.lagTime, lag.lasts.Seconds(), at)
	}
	o.ObserveInt64(g.open, int64(l.open))
	for of, n := range l.shunned {
		at := []attribute.KeyValue{keyWork.String(string(of.work))}
		if of.scope != (events.Scope{}) {
			at = append(at, keyScope.String(of.scope.String()))
		}
		o.ObserveInt64(g.shunned, int64(n), metric.WithAttributes(at...))
	}
	o.ObserveInt64(g.answering, m.answering.Load())
	for state, n := range l.nodes {
		o.ObserveInt64(g.nodes, int64(n), metric.WithAttributes(keyState.String(string(state))))
	}
	for reason, n := range l.pending {
		o.ObserveInt64(g.pending, int64(n), metric.WithAttributes(keyReason.String(reason)))
	}
	for _, s := range l.services {
		at := metric.WithAttributes(named(s.id)...)
		o.ObserveInt64(g.desired, int64(s.desired), at)
		o.ObserveInt64(g.online, int64(s.online), at)
		o.ObserveInt64(g.waiting, int64(s.pending), at)
		o.ObserveFloat64(g.waits, s.waits.Seconds(), at)
	}
	for _, n := range l.machines {
		g.tellNode(o, n)
	}
	for _, n := range l.states {
		o.ObserveInt64(g.state, 1, metric.WithAttributes(keyNode.String(n.name), keyState.String(string(n.state))))
	}
	for _, op := range l.under {
		g.tellOperation(o, op)
	}
}

func (g *gauges) tellNode(o metric.Observer, n nodeLevels) {
	at := metric.WithAttributes(keyNode.String(n.name))
	if n.name == "" {
		at = metric.WithAttributes(keyOverflow.Bool(true))
	}
	o.ObserveFloat64(g.allocatableCPU, inCores(n.allocatable.CPU), at)
	o.ObserveInt64(g.allocatableMemory, int64(n.allocatable.Memory), at)
	o.ObserveInt64(g.allocatableDisk, int64(n.allocatable.Disk), at)
	o.ObserveFloat64(g.reservedCPU, inCores(n.reserved.CPU), at)
	o.ObserveInt64(g.reservedMemory, int64(n.reserved.Memory), at)
	o.ObserveInt64(g.reservedDisk, int64(n.reserved.Disk), at)
}

func (g *gauges) tellOperation(o metric.Observer, op operationLevels) {
	about := append(named(op.id), keyKind.String(string(op.kind)), keyPhase.String(string(op.phase)))
	at := metric.WithAttributes(about...)
	o.ObserveFloat64(g.phaseTime, op.since.Seconds(), at)
	o.ObserveFloat64(g.overdue, op.overdue.Seconds(), at)
	if op.awaited > 0 {
		about = append(about, keyOrdinal.Int64(int64(op.slowest)), keyNode.String(op.on))
	}
	o.ObserveInt64(g.awaited, int64(op.awaited), metric.WithAttributes(about...))
}

// named are the attributes that name a service, or those of all services beyond the bound.
func named(id events.ServiceID) []attribute.KeyValue {
	if id.Name == "" {
		return []attribute.KeyValue{keyOverflow.Bool(true)}
	}
	return []attribute.KeyValue{keyNamespace.String(id.Namespace), keyService.String(id.Name)}
}

func inCores(c events.CPU) float64 { return float64(c) / float64(events.Core) }
