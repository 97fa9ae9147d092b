package runner

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// figures are what one closed round adds to what is counted. They follow from its events and from the state after it alone, so that
// they are those of the log.
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

// evictionReason is why an instance could not stay where it was, though nothing about its service had changed.
type evictionReason string

// The reasons of an eviction.
const (
	evictedLost   evictionReason = "lost"         // its node was silent for too long
	evictedDrain  evictionReason = "drained"      // its node is drained
	evictedForced evictionReason = "drain-forced" // its node is drained, and the deadline of that has passed
)

type commandEnd struct {
	verb    string
	outcome projections.Outcome
}

type operationEnd struct {
	kind    events.OperationKind
	outcome events.OperationOutcome
}

// scheduling is how long it took from the round that accepted a command to that which placed an instance for it, or saw it serve.
type scheduling struct {
	reached string
	lasted  time.Duration
}

// What a scheduling has reached.
const (
	reachedPlaced = "placed"
	reachedOnline = "online"
)

// crossing is a phase that all participants of an operation went through.
type crossing struct {
	phase  events.OperationPhase
	lasted time.Duration
	// spread is how long the others waited for the slowest, from the first that was done on.
	spread time.Duration
}

// tally makes the figures of one round after the other. It knows of operations since when they are in their phase.
type tally struct {
	phases map[events.ServiceID]*phase
}

// phase is one that a service's operation is in, since entered. Participants have been done with it from first to last; both are zero
// before.
type phase struct {
	kind                 events.OperationKind
	name                 events.OperationPhase
	attempt              uint32
	entered, first, last time.Time
}

// newTally begins with the operations that are under way in the state.
func newTally(c *projections.Cluster) *tally {
	t := &tally{phases: map[events.ServiceID]*phase{}}
	for id := range c.Operating() {
		op := c.Services[id].Operation
		t.phases[id] = &phase{kind: op.Kind, name: op.Phase, attempt: op.Attempt, entered: op.Entered}
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
			f.schedule(c, r, reachedPlaced)
		case events.InstanceOnline:
			if d.Attempt == 0 {
				f.schedule(c, r, reachedOnline)
			}
		case events.InstanceLost:
			f.evicted[evictedLost]++
		case events.InstanceRetired:
			f.retire(d.Reason)
		case events.Fate:
			f.end(c, d)
		}
		t.follow(&f, r)
	}
	return f
}

// schedule notes how long an instance took that a command about its service has led to.
func (f *figures) schedule(c *projections.Cluster, r events.Record, reached string) {
	cmd := c.Commands[r.Cause.Correlation]
	if cmd == nil || (cmd.Service.Name == "" && cmd.Group.Name == "") {
		return
	}
	f.scheduled = append(f.scheduled, scheduling{reached, r.Time.Sub(cmd.Begun)})
}

func (f *figures) retire(reason events.RetireReason) {
	if reason == events.RetireMoved {
		f.moved++
	}
	if why := evictionReason(reason); why == evictedDrain || why == evictedForced {
		f.evicted[why]++
	}
}

// end counts a command that has ended with the event.
func (f *figures) end(c *projections.Cluster, d events.Fate) {
	outcome := projections.Outcome(d.Kind().Name)
	verb := ""
	switch d := d.(type) {
	case events.CommandSucceeded, events.CommandFailed, events.CommandSuperseded, events.CommandRepeated:
		if cmd := c.Commands[d.Fated()]; cmd != nil {
			verb = cmd.Verb
		}
	case events.CommandRejected:
		verb = d.Verb
	default:
		return
	}
	f.commands[commandEnd{knownVerb(verb), outcome}]++
}

// knownVerb returns the verb, or "other" for what somebody has typed: there is no bound to that.
func knownVerb(verb string) string {
	for _, verbs := range [][]string{events.Verbs, events.GroupVerbs, events.NodeVerbs, events.ClusterVerbs} {
		if slices.Contains(verbs, verb) {
			return verb
		}
	}
	return "other"
}

// follow takes the event into what is known of its service's operation.
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

// cross notes that all participants are through with the phase, if it is one.
func (f *figures) cross(p *phase, now time.Time) {
	if p.name != "" {
		f.crossed = append(f.crossed, crossing{p.name, now.Sub(p.entered), p.last.Sub(p.first)})
	}
}

// ends reports whether the event says of a participant what it is to come to in the phase.
func (p *phase) ends(d events.Data) bool {
	switch d.(type) {
	case events.InstancePrepared:
		return p.name == events.OperationPrepare
	case events.InstanceOnline:
		return p.name == events.OperationStart
	case events.InstanceConfirmed:
		return true // it is asked in the phases that have it asked, and for these alone
	case events.InstanceRemoved:
		return p.name == events.OperationRetire
	}
	return false
}
