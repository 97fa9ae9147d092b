package whatif

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Typical is how long things take: the median of the times in the log.
type Typical struct {
	// Start is from the decision for a node until the instance serves. Stop is from the decision to stop it until it is gone.
	Start time.Duration
	Stop  time.Duration
}

// The times if the log shows none.
const (
	defaultStart = time.Second
	defaultStop  = time.Second
)

// maxSamples is how many samples of each time are kept: the first ones.
const maxSamples = 1000

// times are the times in the log, over all services and by service.
type times struct {
	starts, stops []time.Duration
	byService     map[events.ServiceID]*serviceTimes
	open          map[events.InstanceID]since
}

type serviceTimes struct{ starts, runs []time.Duration }

// since says when something began for an instance: zero if it did not.
type since struct{ placed, serves, retired time.Time }

func newTimes() *times {
	return &times{byService: map[events.ServiceID]*serviceTimes{}, open: map[events.InstanceID]since{}}
}

// note takes an event of the log.
func (t *times) note(r events.Record) {
	service, ok := r.Scope.Service()
	if !ok {
		return
	}
	of := func(ordinal, generation uint32) events.InstanceID {
		return events.InstanceID{Service: service, Ordinal: ordinal, Generation: generation}
	}
	switch d := r.Data.(type) {
	case events.InstancePlaced:
		t.open[of(d.Ordinal, d.Generation)] = since{placed: r.Time}
	case events.InstanceOnline:
		t.serves(of(d.Ordinal, d.Generation), r.Time)
	case events.InstanceCompleted:
		if id := of(d.Ordinal, d.Generation); !t.open[id].serves.IsZero() {
			t.of(service).runs = sample(t.of(service).runs, r.Time.Sub(t.open[id].serves))
		}
	case events.InstanceRetired:
		id := of(d.Ordinal, d.Generation)
		begun := t.open[id]
		begun.retired = r.Time
		t.open[id] = begun
	case events.InstanceRemoved:
		id := of(d.Ordinal, d.Generation)
		if begun := t.open[id]; !begun.retired.IsZero() {
			t.stops = sample(t.stops, r.Time.Sub(begun.retired))
		}
		delete(t.open, id)
	case events.InstanceOffline: // times after a failure are not typical
		delete(t.open, of(d.Ordinal, d.Generation))
	case events.InstanceLost:
		delete(t.open, of(d.Ordinal, d.Generation))
	case events.InstanceForgotten:
		delete(t.open, of(d.Ordinal, d.Generation))
	}
}

// serves notes that an instance serves for the first time.
func (t *times) serves(id events.InstanceID, at time.Time) {
	begun, known := t.open[id]
	if !known || begun.placed.IsZero() || !begun.serves.IsZero() {
		return
	}
	begun.serves = at
	t.open[id] = begun
	t.starts = sample(t.starts, at.Sub(begun.placed))
	s := t.of(id.Service)
	s.starts = sample(s.starts, at.Sub(begun.placed))
}

func (t *times) of(id events.ServiceID) *serviceTimes {
	if t.byService[id] == nil {
		t.byService[id] = &serviceTimes{}
	}
	return t.byService[id]
}

// typical returns the times over all services.
func (t *times) typical() Typical {
	return Typical{Start: median(t.starts, defaultStart), Stop: median(t.stops, defaultStop)}
}

// start returns how long an instance of the service takes to serve.
func (t *times) start(id events.ServiceID) time.Duration {
	return median(t.of(id).starts, median(t.starts, defaultStart))
}

// run returns how long an instance of a job runs, or false if the log shows none that completed.
func (t *times) run(id events.ServiceID) (time.Duration, bool) {
	runs := t.of(id).runs
	return median(runs, 0), len(runs) > 0
}

func sample(samples []time.Duration, d time.Duration) []time.Duration {
	if len(samples) < maxSamples {
		samples = append(samples, d)
	}
	return samples
}

func median(samples []time.Duration, none time.Duration) time.Duration {
	if len(samples) == 0 {
		return none
	}
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[len(sorted)/2]
}
