package runner

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

const (
	// DefaultSampleEvery is how often a node measures what its instances use.
	DefaultSampleEvery = 30 * time.Second
	// statsTimeout is how long the engine may take to measure all of them.
	statsTimeout = 10 * time.Second
	// mostProcessesMeasured is how many instances of a node have metric series of their own. On the bus, all have.
	mostProcessesMeasured = 500
)

// sampler measures what instances use, beside the loop. It asks the loop which containers run, and does not influence the loop.
type sampler struct {
	// before is what containers had used at the last sample, by handle; at is the time of that. Both belong to the goroutine that samples.
	before map[string]node.Stats
	at     time.Time

	mu   sync.Mutex
	last []events.MetricProcess // in order
}

// process is an instance that runs. handles are its main container and then its sidecars; disk is its last measured disk usage.
type process struct {
	id      events.InstanceID
	handles []string
	disk    *uint64
}

// sampleAll samples once per SampleEvery, until ctx ends.
func (a *Agent) sampleAll(ctx context.Context) {
	ticker := time.NewTicker(a.SampleEvery)
	defer ticker.Stop()
	for failing := false; ; {
		err := a.sample(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			a.sampler.forget()
			if !failing {
				a.Log.Warn("cannot measure what instances use", "error", err, "next", a.SampleEvery)
			}
		case failing:
			a.Log.Info("what instances use is measured again")
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sample measures once and publishes the results, which are lost if the bus cannot take them now. If the engine cannot measure, the last
// published results hold until they are too old.
func (a *Agent) sample(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, statsTimeout)
	defer cancel()
	running, err := a.processes(call)
	if err != nil {
		return err
	}
	stats, err := a.Engine.Stats(call)
	if err != nil {
		return err
	}
	for _, p := range a.sampler.take(running, stats, time.Now()) {
		p.Node = a.Name
		if err := a.publishMetric(p); err != nil {
			return err
		}
	}
	return nil
}

// processes asks the loop for the instances that run and must run.
func (a *Agent) processes(ctx context.Context) (all []process, err error) {
	told := make(chan []process, 1)
	a.tell(ctx, func() {
		var all []process
		for _, in := range a.inOrder() {
			c := in.view.Container
			if c != nil && c.State == node.Running && c.Role == node.RoleMain && in.view.Order.Action == events.ActionRun {
				all = append(all, process{in.view.Instance, append([]string{c.Handle}, c.Sidecars...), in.disk})
			}
		}
		told <- all
	})
	select {
	case all = <-told:
		return all, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// take computes what each process uses now from what its containers have used since they started.
func (s *sampler) take(running []process, stats map[string]node.Stats, now time.Time) []events.MetricProcess {
	all := make([]events.MetricProcess, 0, len(running))
	mine := map[string]node.Stats{}
	for _, p := range running {
		use := events.ProcessUse{DiskBytes: p.disk}
		if used, known := together(p.handles, stats); known {
			use.MemoryBytes, use.NetworkReceivedBytes, use.NetworkSentBytes = used.Memory, used.Received, used.Sent
			if before, known := together(p.handles, s.before); known {
				use.CPUNanoCores = nanoCores(before.CPU, used.CPU, now.Sub(s.at))
			}
		}
		for _, handle := range p.handles {
			if one, known := stats[handle]; known {
				mine[handle] = one
			}
		}
		all = append(all, events.MetricProcess{
			Namespace: p.id.Service.Namespace, Name: p.id.Service.Name, Ordinal: p.id.Ordinal, Generation: p.id.Generation, ProcessUse: use,
		})
	}
	s.before, s.at = mine, now
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = slices.Clone(all)
	return all
}

// together returns what several containers have used. It reports false if the usage of one is unknown.
func together(handles []string, stats map[string]node.Stats) (all node.Stats, known bool) {
	for i, handle := range handles {
		one, known := stats[handle]
		switch {
		case !known:
			return node.Stats{}, false
		case i == 0:
			all = one
		default:
			all = all.With(one)
		}
	}
	return all, len(handles) > 0
}

// billion is how many nanocores a core has.
const billion = 1e9

// nanoCores returns how many billionths of a core were used between two times; nil if unknown.
func nanoCores(before, after *time.Duration, lasted time.Duration) *uint64 {
	if before == nil || after == nil || *after < *before || lasted <= 0 {
		return nil
	}
	taken := uint64(float64(*after-*before) / float64(lasted) * billion)
	return &taken
}

func (a *Agent) publishMetric(p events.MetricProcess) error {
	service := events.ServiceID{Namespace: p.Namespace, Name: p.Name}
	now := a.Now()
	m, err := events.Encode(events.MetricSubject(service, p.Ordinal, a.Name), p, a.attributes("metric/"+strconv.FormatInt(now.UnixNano(), 10)))
	if err != nil {
		return err
	}
	return a.Bus.Send(m)
}

// forget drops the last results, so that collections report none until the next sample.
func (s *sampler) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = nil
}

// observe reports the last results to a collection of metrics.
func (s *sampler) observe(m *meters, o metric.Observer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var cpu, memory total
	for i, p := range s.last {
		cpu.add(p.CPUNanoCores)
		memory.add(p.MemoryBytes)
		if i < mostProcessesMeasured && (i+1 == len(s.last) || !sameSlot(p, s.last[i+1])) {
			m.observeProcess(o, p)
		}
	}
	if cpu.known {
		o.ObserveFloat64(m.usedCPU, inCores(cpu.sum), metric.WithAttributes(m.node))
	}
	if memory.known {
		o.ObserveInt64(m.usedMemory, int64(memory.sum), metric.WithAttributes(m.node))
	}
}

// sameSlot reports whether both are of the same slot. Then only the later generation reports the slot's series.
func sameSlot(a, b events.MetricProcess) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name && a.Ordinal == b.Ordinal
}

// total adds up the known values; known reports whether there was one.
type total struct {
	sum   uint64
	known bool
}

func (t *total) add(n *uint64) {
	if n != nil {
		t.sum, t.known = t.sum+*n, true
	}
}

func inCores(nano uint64) float64 { return float64(nano) / billion }

// observeProcess reports what one instance uses, as far as that is known.
func (m *meters) observeProcess(o metric.Observer, p events.MetricProcess) {
	about := []attribute.KeyValue{
		m.node, keyNamespace.String(p.Namespace), keyService.String(p.Name), keyOrdinal.Int64(int64(p.Ordinal)),
	}
	at := metric.WithAttributes(about...)
	if p.CPUNanoCores != nil {
		o.ObserveFloat64(m.processCPU, inCores(*p.CPUNanoCores), at)
	}
	if p.MemoryBytes != nil {
		o.ObserveInt64(m.processMemory, int64(*p.MemoryBytes), at)
	}
	if p.DiskBytes != nil {
		o.ObserveInt64(m.processDisk, int64(*p.DiskBytes), at)
	}
	for direction, bytes := range map[string]*uint64{"receive": p.NetworkReceivedBytes, "transmit": p.NetworkSentBytes} {
		if bytes != nil {
			o.ObserveInt64(m.processNetwork, int64(*bytes), metric.WithAttributes(append(slices.Clone(about), keyDirection.String(direction))...))
		}
	}
}
