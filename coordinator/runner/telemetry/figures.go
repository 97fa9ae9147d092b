package telemetry

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// figures are what one closed round adds to the counters. They follow only from its events and from the state after it, so that they are
// those of the log.
type figures struct {
	placed  int
	moved   int
	evicted map[evictionReason]int
	// commands and operations are those that ended.
	commands   map[commandEnd]int
	operations map[operationEnd]int
	scheduled  []scheduling
	crossed    []crossing
}

// evictionReason is why an instance could not stay on its node, though nothing about its service had changed.
type evictionReason string

// The reasons of an eviction.
const (
	evictedLost   evictionReason = "lost"         // its node was silent for too long
	evictedDrain  evictionReason = "drained"      // its node is drained
	evictedForced evictionReason = "drain-forced" // its node is drained, and the deadline of the drain has passed
)

type commandEnd struct {
	verb    string
	outcome projections.Outcome
}

type operationEnd struct {
	kind    events.OperationKind
	outcome events.OperationOutcome
}

// scheduling is how long a slot that lacked an instance, after a command, an update or a loss, took until the instance was placed, or first
// served.
type scheduling struct {
	reached string
	lasted  time.Duration
}

// The stages that a scheduling reaches.
const (
	reachedPlaced = "placed"
	reachedOnline = "online"
)

// crossing is a phase that all participants of an operation went through.
type crossing struct {
	phase  events.OperationPhase
	lasted time.Duration
	// spread is the time from the first participant that was done to the last; nil if not all of them were seen.
	spread *time.Duration
}

// tally computes the figures of successive rounds. It knows since when operations are in their phase, and which instances have not served
// yet.
type tally struct {
	phases   map[events.ServiceID]*phase
	starting map[events.InstanceID]struct{}
}

// phase is the phase of a service's operation, since entered. Participants were done with it from first to last; both are zero before that.
// If it was in progress when this coordinator began to lead, some participants may have been done before.
type phase struct {
	underWay             bool
	kind                 events.OperationKind
	name                 events.OperationPhase
	attempt              uint32
	entered, first, last time.Time
}

// newTally begins with the operations in progress.
func newTally(c *projections.Cluster) *tally {
	t := &tally{phases: map[events.ServiceID]*phase{}, starting: map[events.InstanceID]struct{}{}}
	for id := range c.Operating() {
		op := c.Services[id].Operation
		t.phases[id] = &phase{underWay: true, kind: op.Kind, name: op.Phase, attempt: op.Attempt, entered: op.Entered}
	}
	for _, s := range c.Services {
		for i := range s.Instances() {
			if i.Times.Served == 0 {
				t.starting[i.ID] = struct{}{}
			}
		}
	}
	return t
}

// of returns the figures of a round: its records, and the state after it.
func (t *tally) of(c *projections.Cluster, records []events.Record) figures {
	f := figures{evicted: map[evictionReason]int{}, commands: map[commandEnd]int{}, operations: map[operationEnd]int{}}
	for _, r := range records {
		switch d := r.Data.(type) {
		case events.InstancePlaced:
			f.placed++
			id := instanceOf(r, d.Ordinal, d.Generation)
			t.starting[id] = struct{}{}
			f.schedule(c, id, r.Time, reachedPlaced)
		case events.InstanceOnline:
			id := instanceOf(r, d.Ordinal, d.Generation)
			if _, first := t.starting[id]; first {
				delete(t.starting, id)
				f.schedule(c, id, r.Time, reachedOnline)
			}
		case events.InstanceRemoved:
			delete(t.starting, instanceOf(r, d.Ordinal, d.Generation))
		case events.InstanceForgotten:
			delete(t.starting, instanceOf(r, d.Ordinal, d.Generation))
		case events.InstanceLost:
			f.evicted[evictedLost]++
		case events.InstanceRetired:
			f.retire(d.Reason)
		case events.Outcome:
			f.end(c, d)
		}
		t.follow(&f, r)
	}
	return f
}

func instanceOf(r events.Record, ordinal, generation uint32) events.InstanceID {
	id, _ := r.Scope.Service()
	return events.InstanceID{Service: id, Ordinal: ordinal, Generation: generation}
}

// schedule notes how long an instance took, unless the same round also ends the instance.
func (f *figures) schedule(c *projections.Cluster, id events.InstanceID, now time.Time, reached string) {
	if i := c.Instance(id); i != nil {
		f.scheduled = append(f.scheduled, scheduling{reached, max(now.Sub(i.Times.Created.Time()), 0)})
	}
}

func (f *figures) retire(reason events.RetireReason) {
	if reason == events.RetireMoved {
		f.moved++
	}
	if why := evictionReason(reason); why == evictedDrain || why == evictedForced {
		f.evicted[why]++
	}
}

// end counts a command that ended with the event.
func (f *figures) end(c *projections.Cluster, d events.Outcome) {
	outcome := projections.Outcome(d.Kind().Name)
	verb := ""
	switch d := d.(type) {
	case events.CommandSucceeded, events.CommandFailed, events.CommandSuperseded, events.CommandRepeated:
		if cmd := c.Commands[d.CommandSequence()]; cmd != nil {
			verb = cmd.Verb
		}
	case events.CommandRejected:
		verb = d.Verb
	default:
		return
	}
	f.commands[commandEnd{knownVerb(verb), outcome}]++
}

// knownVerb returns the verb, or "other" for a verb that a client made up, as there is no bound to those.
func knownVerb(verb string) string {
	for _, verbs := range [][]string{events.Verbs, events.GroupVerbs, events.NodeVerbs, events.ClusterVerbs} {
		if slices.Contains(verbs, verb) {
			return verb
		}
	}
	return "other"
}

// follow updates from the event what is known of its service's operation.
func (t *tally) follow(f *figures, r events.Record) {
	id, ok := r.Scope.Service()
	if !ok {
		return
	}
	p := t.phases[id]
	switch d := r.Data.(type) {
	case events.OperationStarted:
		t.phases[id] = &phase{kind: d.Operation}
	case events.OperationEntered:
		if p == nil {
			return
		}
		if d.Attempt == p.attempt || p.attempt == 0 {
			f.cross(p, r.Time)
		}
		*p = phase{kind: p.kind, name: d.Phase, attempt: d.Attempt, entered: r.Time}
	case events.OperationEnded:
		if p == nil {
			return
		}
		if d.Outcome == events.OperationDone {
			f.cross(p, r.Time)
		}
		f.operations[operationEnd{p.kind, d.Outcome}]++
		delete(t.phases, id)
	default:
		if p != nil && p.ends(d) {
			p.last = r.Time
			if p.first.IsZero() {
				p.first = r.Time
			}
		}
	}
}

// cross notes that all participants are done with the phase, if p has one.
func (f *figures) cross(p *phase, now time.Time) {
	if p.name == "" {
		return
	}
	x := crossing{phase: p.name, lasted: now.Sub(p.entered)}
	if !p.underWay && !p.first.IsZero() {
		x.spread = new(p.last.Sub(p.first))
	}
	f.crossed = append(f.crossed, x)
}

// ends reports whether the event says that a participant has reached the goal of the phase.
func (p *phase) ends(d events.Data) bool {
	switch d.(type) {
	case events.InstancePrepared:
		return p.name == events.OperationPrepare
	case events.InstanceOnline:
		return p.name == events.OperationStart
	case events.InstanceConfirmed:
		return true // instances are asked only in phases that need a confirmation
	case events.InstanceRemoved:
		return p.name == events.OperationRetire
	}
	return false
}
