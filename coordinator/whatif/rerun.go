package whatif

import (
	"cmp"
	"container/heap"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// The simulated time moves in steps while no event is due. A step is an eighth of the time since the last event, within these
// bounds. So decisions that depend on the time alone are late by at most one step.
const (
	minStep = time.Second
	maxStep = time.Minute
	stepsIn = 8
)

const (
	// mostAtOnce is how many records of the past, or answers, one round takes: each leads to at most two events.
	mostAtOnce = coordinator.MaxPerInput / 2
	// maxRounds is how many rounds may follow each other at one moment: more than that would never end.
	maxRounds = 10_000
)

// rerun runs the past again, on a state that only it uses.
type rerun struct {
	past  *coordinator.Past
	kept  kept
	times *times
	meter *meter
	now   time.Time
	// stirred is when the last event happened.
	stirred time.Time
	due     schedule
	made    uint64
	// held is what nodes cannot report before they send heartbeats again, by node.
	held map[string][]outcome
}

// outcome is the phase that an instance reaches at a time.
type outcome struct {
	at    time.Time
	made  uint64 // of two at the same time, the one that was made first comes first
	id    events.InstanceID
	phase events.Phase
}

// schedule is a heap of outcomes.
type schedule []outcome

// Len implements heap.Interface.
func (a schedule) Len() int { return len(a) }

// Less implements heap.Interface.
func (a schedule) Less(i, j int) bool {
	return cmp.Or(a[i].at.Compare(a[j].at), cmp.Compare(a[i].made, a[j].made)) < 0
}

// Swap implements heap.Interface.
func (a schedule) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *schedule) Push(o any) { *a = append(*a, o.(outcome)) }

// Pop implements heap.Interface.
func (a *schedule) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// newRerun begins on a state, which it changes. Policy and capacity are nil to keep those of the past.
func newRerun(c *projections.Cluster, t *times, began time.Time, policy *events.Policy, capacity map[string]events.Resources) *rerun {
	r := &rerun{
		past: coordinator.NewPast(c), times: t, now: began, stirred: began, held: map[string][]outcome{},
		kept: kept{cluster: c, policy: policy, capacity: capacity, revisions: map[events.ServiceID]map[uint64]uint64{}},
	}
	r.meter = newMeter(c, began)
	for _, id := range slices.SortedFunc(maps.Keys(c.Services), events.ServiceID.Compare) {
		for i := range c.Services[id].Instances() {
			r.expect(i)
		}
	}
	return r
}

// begin gives the state the policy and the capacity.
func (r *rerun) begin() error {
	for part := range slices.Chunk(r.kept.begin(), mostAtOnce) {
		if err := r.settle(r.now, slices.Values(part)); err != nil {
			return err
		}
	}
	return nil
}

// take runs a round of the past, after all that is due before it.
func (r *rerun) take(records []events.Record, now time.Time) error {
	if err := r.until(now); err != nil {
		return err
	}
	for part := range slices.Chunk(records, mostAtOnce) {
		err := r.settle(now, func(yield func(events.Event) bool) {
			for _, record := range part {
				for _, e := range r.kept.of(record) {
					if !yield(e) {
						return
					}
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// until moves the time to end, and lets everything happen that is due by then.
func (r *rerun) until(end time.Time) error {
	for r.now.Before(end) {
		step := min(max(r.now.Sub(r.stirred)/stepsIn, minStep), maxStep)
		next := r.now.Add(step)
		if len(r.due) > 0 && r.due[0].at.Before(next) {
			next = r.due[0].at
		}
		if !next.Before(end) {
			next = end
		}
		if err := r.settle(next, slices.Values(r.arrive(next))); err != nil {
			return err
		}
	}
	return nil
}

// settle decides what follows from the events at a time, and repeats that for as long as something follows at once.
func (r *rerun) settle(now time.Time, happened iter.Seq[events.Event]) (err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("%w: at %s a decision fails: %v", ErrSimulated, now.Format(time.RFC3339Nano), why)
		}
	}()
	if now.Before(r.now) { // the state begins later than its rounds
		now = r.now
	}
	r.now = now
	var rest []events.Event
	for range maxRounds {
		records := r.past.Round(now, happened)
		r.meter.take(records, now)
		if len(records) > 0 {
			r.stirred = now
		}
		for _, record := range records {
			r.follow(record)
		}
		if len(rest) == 0 {
			rest = append(r.arrive(now), r.answersOf(records)...)
		}
		if len(rest) == 0 && (len(records) == 0 || !r.past.Waits()) {
			return nil
		}
		next := rest[:min(len(rest), mostAtOnce)]
		happened, rest = slices.Values(next), rest[len(next):]
	}
	return fmt.Errorf("%w: at %s decisions follow each other without an end", ErrSimulated, now.Format(time.RFC3339Nano))
}

// follow notes what an instance does next after a decision about it.
func (r *rerun) follow(record events.Record) {
	service, ok := record.Scope.Service()
	if !ok {
		if name, of := record.Scope.Node(); of {
			r.hear(name, record.Data)
		}
		return
	}
	id := events.InstanceID{Service: service}
	switch d := record.Data.(type) {
	case events.InstancePlaced:
		id.Ordinal, id.Generation = d.Ordinal, d.Generation
	case events.InstanceRetired:
		id.Ordinal, id.Generation = d.Ordinal, d.Generation
	case events.InstanceOnline:
		id.Ordinal, id.Generation = d.Ordinal, d.Generation
	default:
		return
	}
	if i := r.kept.cluster.Instance(id); i != nil {
		r.expect(i)
	}
}

// expect notes the phase that the instance reaches next, and when.
func (r *rerun) expect(i *projections.Instance) {
	o := outcome{id: i.ID}
	switch s := r.kept.cluster.Services[i.ID.Service]; {
	case i.Retired() != "":
		o.phase, o.at = events.PhaseRemoved, r.now.Add(r.times.typical().Stop)
	case i.Seen.Phase < events.PhaseOnline, i.Seen.Phase == events.PhaseOffline && i.Ended().NoRestart == "":
		o.phase, o.at = events.PhaseOnline, r.now.Add(r.times.start(i.ID.Service))
	case i.Seen.Phase == events.PhaseOnline && s.Job != nil:
		runs, known := r.times.run(i.ID.Service)
		if !known {
			return
		}
		o.phase, o.at = events.PhaseCompleted, r.now.Add(runs)
	default:
		return
	}
	r.schedule(o)
}

func (r *rerun) schedule(o outcome) {
	r.made++
	o.made = r.made
	heap.Push(&r.due, o)
}

// hear lets a node report now what it could not report before.
func (r *rerun) hear(node string, d events.Data) {
	switch d.(type) {
	case events.NodeReturned, events.NodeJoined, events.NodeRecovered:
	default:
		return
	}
	for _, o := range r.held[node] {
		o.at = r.now
		r.schedule(o)
	}
	delete(r.held, node)
}

// arrive returns the phases that instances have reached by now, as many as one round takes.
func (r *rerun) arrive(now time.Time) []events.Event {
	var happened []events.Event
	for len(r.due) > 0 && !r.due[0].at.After(now) && len(happened) < mostAtOnce {
		o := heap.Pop(&r.due).(outcome)
		i := r.kept.cluster.Instance(o.id)
		if i == nil || !r.becomes(i, o.phase) {
			continue
		}
		if n := r.kept.cluster.Nodes[i.Node]; !n.Live() || n.Degraded != "" {
			r.held[i.Node] = append(r.held[i.Node], o)
			continue
		}
		happened = append(happened, r.seen(i, o.phase))
	}
	return happened
}

// becomes reports whether the instance can still reach this phase.
func (r *rerun) becomes(i *projections.Instance, phase events.Phase) bool {
	switch retired := i.Retired() != ""; {
	case phase == events.PhaseRemoved || retired:
		return retired && phase == events.PhaseRemoved
	case phase == events.PhaseCompleted:
		return i.Seen.Phase == events.PhaseOnline
	}
	return i.Seen.Phase < events.PhaseOnline || i.Seen.Phase == events.PhaseOffline
}

// seen returns what the node reports about an instance that has reached a phase.
func (r *rerun) seen(i *projections.Instance, phase events.Phase) events.Event {
	at := events.Position{Epoch: r.kept.cluster.Nodes[i.Node].Epoch, Attempt: i.Seen.Attempt, Phase: phase}
	if i.Seen.Phase == events.PhaseOffline {
		at.Attempt++
	}
	seen := events.InstanceSeen{Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Node: i.Node, Position: at}
	e := events.Event{Scope: events.ServiceScope(i.ID.Service), Data: events.InstanceOnline{InstanceSeen: seen}}
	if phase == events.PhaseRemoved {
		e.Data = events.InstanceRemoved{InstanceSeen: seen}
	}
	if phase == events.PhaseCompleted {
		seen.ExitCode = new(int32)
		e.Data = events.InstanceCompleted{InstanceSeen: seen}
	}
	return e
}
