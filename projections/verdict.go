package projections

import (
	"fmt"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections/barrier"
)

// judge says of a slot whether it is done with the phase, what it lacks for that, and why it never will be, where that is so.
type judge func(ordinal uint32) barrier.Participant

// reached is a slot that is done with the phase.
var reached = barrier.Participant{Reached: true}

// fails is a slot that never will be.
func fails(why string) barrier.Participant { return barrier.Participant{Broken: why} }

// phase is a wave's phase at a time.
type phase struct {
	cluster *Cluster
	service *Service
	op      *Operation
	update  events.Update
	now     time.Time
}

// Verdict says whether the wave of the service's operation is done with its phase at this time. Nobody waits for slots that
// there are no more, or that are given up.
func (c *Cluster) Verdict(s *Service, now time.Time) barrier.Verdict {
	p := phase{cluster: c, service: s, op: s.Operation, update: s.Current().Spec.Updates(), now: now}
	judged := p.judge()
	if judged == nil {
		return barrier.Judge(nil)
	}
	var all []barrier.Participant
	for _, o := range p.op.Slots {
		if p.takesPart(o) && !slices.Contains(p.op.GivenUp, o) {
			participant := judged(o)
			participant.Ordinal = o
			all = append(all, participant)
		}
	}
	return barrier.Judge(all)
}

// judge returns how slots are judged in the phase; nil for the time without a wave.
func (p phase) judge() judge {
	switch p.op.Phase {
	case events.OperationStart:
		return p.remaining(p.started)
	case events.OperationPrepare:
		return p.remaining(p.prepared)
	case events.OperationRelease, events.OperationAcquire:
		return p.confirmed
	case events.OperationHold, events.OperationExport:
		return p.held
	case events.OperationRetire:
		switch {
		case p.op.Rescale != nil:
			return p.left
		case p.op.Kind == events.OperationSuspend:
			return p.gone
		}
		return p.retired
	case events.OperationMonitor:
		return p.watched
	case events.OperationPromote:
		return p.when(p.op.Promoted, "nobody has promoted it")
	case events.OperationDelay:
		return p.when(p.lasted(p.update.Delay), "the time before the next wave is not over")
	case events.OperationWait:
	}
	return nil
}

// takesPart reports whether anything is waited for in the slot: where all go together in every one. People, and the time before the next
// wave, are waited for whatever has become of it.
func (p phase) takesPart(ordinal uint32) bool {
	forAll := p.op.Together() || p.op.Phase == events.OperationPromote || p.op.Phase == events.OperationDelay
	return forAll || (p.service.Wants(ordinal) && !p.service.Excused(ordinal))
}

// slot returns the slot, which is empty where there is none yet or no more.
func (p phase) slot(ordinal uint32) *Slot {
	if int(ordinal) >= len(p.service.Slots) {
		return &Slot{}
	}
	return p.service.Slots[ordinal]
}

// lasted reports whether the phase has lasted for as long.
func (p phase) lasted(d events.Duration) bool {
	return !p.now.Before(p.op.Entered.Add(time.Duration(d)))
}

// started judges a slot whose next instance is to serve for as long as counts.
func (p phase) started(ordinal uint32) barrier.Participant {
	least := time.Duration(*p.update.MinHealthy)
	since, serves := p.op.Serves[ordinal]
	if serves && !p.now.Before(since.Add(least)) {
		return reached
	}
	return p.lacks(fmt.Sprintf("it has not served for %s", least))
}

// remaining judges the slots that a rescale keeps; those that go need not come so far.
func (p phase) remaining(judged judge) judge {
	return func(ordinal uint32) barrier.Participant {
		if r := p.op.Rescale; r != nil && ordinal >= r.To {
			return reached
		}
		return judged(ordinal)
	}
}

// prepared judges a slot whose next instance is to be made.
func (p phase) prepared(ordinal uint32) barrier.Participant {
	slot := p.slot(ordinal)
	for _, i := range [...]*Instance{slot.Current, slot.Next} {
		if i != nil && (p.op.Together() || p.service.UpToDate(i)) && i.Seen.Phase >= events.PhasePrepared && i.Seen.Phase <= events.PhaseOnline {
			return reached
		}
	}
	return p.lacks("it is not prepared")
}

// confirmed judges a slot whose instance is to do what the phase asks, where its spec has a hook for that.
func (p phase) confirmed(ordinal uint32) barrier.Participant {
	i, wanted := p.slot(ordinal).Current, events.Confirmation{Operation: p.op.Started, Attempt: p.op.Attempt, Phase: p.op.Phase}
	switch {
	case i == nil:
	case p.service.Revisions[i.Revision].Spec.Hook(p.op.Phase) == nil:
		return reached
	case i.Confirmed.Operation != wanted.Operation:
	case i.Confirmed.Above(wanted), i.Confirmed == wanted:
		return reached
	case i.Confirmed.Refused != "" && !wanted.Above(i.Confirmed):
		return fails(i.Confirmed.Refused)
	}
	return p.lacks("it has not done what its hook asks")
}

// held judges a slot whose instance does its part of a snapshot. One that has come since the others held still cannot: what it
// would give is not of that time.
func (p phase) held(ordinal uint32) barrier.Participant {
	i := p.slot(ordinal).Current
	if !p.service.Has(ordinal) {
		return reached // it has none any more
	}
	if i == nil {
		return p.lacks("it has no instance")
	}
	spec := p.service.Revisions[i.Revision].Spec
	if p.op.Phase == events.OperationExport && spec.Hook(events.OperationHold) != nil && i.Confirmed.Operation != p.op.Started {
		return fails("the instance that held still is no more")
	}
	if !asksIn(p.op.Phase, spec) {
		return reached
	}
	wanted := events.Confirmation{Operation: p.op.Started, Phase: p.op.Phase}
	switch {
	case i.Confirmed.Operation != wanted.Operation || wanted.Above(i.Confirmed):
	case i.Confirmed.Refused != "":
		return fails(i.Confirmed.Refused)
	default:
		return reached
	}
	return p.lacks("it has not done its part")
}

// left judges a slot that the topology has no more: nothing of it is to be left.
func (p phase) left(ordinal uint32) barrier.Participant {
	if ordinal < p.op.Rescale.To {
		return reached
	}
	return p.gone(ordinal)
}

// gone judges a slot of which nothing is to be left, as far as nodes that are heard tell.
func (p phase) gone(ordinal uint32) barrier.Participant {
	slot := p.slot(ordinal)
	remains := func(i *Instance) bool { return p.cluster.Nodes[i.Node].Heard() }
	if slot.Current == nil && !slices.ContainsFunc(slot.Leaving, remains) {
		return reached
	}
	return p.lacks("what it had is not gone")
}

// retired judges a slot of whose instances before nothing is to be left, as far as nodes that are heard tell.
func (p phase) retired(ordinal uint32) barrier.Participant {
	slot := p.slot(ordinal)
	remains := func(i *Instance) bool { return !p.service.UpToDate(i) && p.cluster.Nodes[i.Node].Heard() }
	if (slot.Current == nil || p.service.UpToDate(slot.Current)) && !slices.ContainsFunc(slot.Leaving, remains) {
		return reached
	}
	return p.lacks("what it had before is not gone")
}

// watched judges a slot that is to serve throughout.
func (p phase) watched(ordinal uint32) barrier.Participant {
	if since, serves := p.op.Serves[ordinal]; !serves || since.After(p.op.Entered) {
		return fails("it did not serve throughout the time in which it was watched")
	}
	return p.when(p.lasted(p.update.Monitor), "the time in which it is watched is not over")(ordinal)
}

// when judges all slots alike: by what they wait for together.
func (p phase) when(over bool, missing string) judge {
	return func(uint32) barrier.Participant { return barrier.Participant{Reached: over, Missing: missing} }
}

// lacks is a slot that is not done yet, and never will be once the phase has lasted for too long.
func (p phase) lacks(missing string) barrier.Participant {
	return barrier.Participant{Missing: missing, Broken: p.late(missing)}
}

// late says what is missing once the phase has lasted for too long; "" before.
func (p phase) late(missing string) string {
	if p.now.Before(p.op.since().Add(time.Duration(p.update.HealthyDeadline))) {
		return ""
	}
	return fmt.Sprintf("%s within %s", missing, time.Duration(p.update.HealthyDeadline))
}

// Until returns when the phase of the service's operation ends, or else what it waits for has failed; the zero time where it
// waits for people or nodes.
func (s *Service) Until() time.Time {
	lasts := s.Current().Spec.Updates().Lasts(s.Operation.Phase)
	if lasts == 0 {
		return time.Time{}
	}
	return s.Operation.since().Add(lasts)
}

// since returns from when on the time counts that the phase may take: what nobody was there to hear is held against no slot.
func (o *Operation) since() time.Time {
	if o.Prolonged.After(o.Entered) {
		return o.Prolonged
	}
	return o.Entered
}
