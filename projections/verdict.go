package projections

import (
	"fmt"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections/barrier"
)

// judges says for each phase whether a slot is done, what it still lacks, and why it has failed. Phase wait has no row: no slot takes part in it.
var judges = map[events.OperationPhase]struct {
	judge func(p *phase, ordinal uint32) barrier.Participant
	// whatever says that the phase waits for the slot whatever became of it: it waits for an operator, or for a time to pass.
	whatever bool
}{
	events.OperationPrepare: {judge: (*phase).prepared},
	events.OperationStart:   {judge: (*phase).started},
	events.OperationRelease: {judge: (*phase).confirmed},
	events.OperationAcquire: {judge: (*phase).confirmed},
	events.OperationHold:    {judge: (*phase).held},
	events.OperationExport:  {judge: (*phase).held},
	events.OperationRetire:  {judge: (*phase).retired},
	events.OperationMonitor: {judge: (*phase).watched},
	events.OperationPromote: {judge: (*phase).promoted, whatever: true},
	events.OperationDelay:   {judge: (*phase).delayed, whatever: true},
}

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
	p := &phase{cluster: c, service: s, op: s.Operation, update: s.Current().Spec.Updates(), now: now}
	by := judges[p.op.Phase]
	if by.judge == nil {
		return barrier.Judge(nil)
	}
	var all []barrier.Participant
	for _, o := range p.op.Slots {
		if (by.whatever || p.takesPart(o)) && !slices.Contains(p.op.GivenUp, o) {
			participant := by.judge(p, o)
			participant.Ordinal = o
			all = append(all, participant)
		}
	}
	return barrier.Judge(all)
}

// takesPart reports whether anything is waited for in the slot: where all go together in every one.
func (p *phase) takesPart(ordinal uint32) bool {
	return p.op.Kind.Together() || (p.service.Wants(ordinal) && !p.service.Excused(ordinal))
}

// slot returns the slot, which is empty where there is none yet or no more.
func (p *phase) slot(ordinal uint32) *Slot {
	if int(ordinal) >= len(p.service.Slots) {
		return &Slot{}
	}
	return p.service.Slots[ordinal]
}

// goes reports whether the operation is to leave nothing of the slot. One that goes need not come so far as others.
func (p *phase) goes(ordinal uint32) bool { return p.op.Rescale != nil && ordinal >= p.op.Rescale.To }

// started judges a slot whose next instance is to serve for as long as counts.
func (p *phase) started(ordinal uint32) barrier.Participant {
	least := time.Duration(*p.update.MinHealthy)
	since, serves := p.op.Serves[ordinal]
	if p.goes(ordinal) || (serves && !p.now.Before(since.Add(least))) {
		return reached
	}
	return p.lacks(fmt.Sprintf("it has not served for %s", least))
}

// prepared judges a slot whose next instance is to be made.
func (p *phase) prepared(ordinal uint32) barrier.Participant {
	if p.goes(ordinal) {
		return reached
	}
	slot := p.slot(ordinal)
	for _, i := range [...]*Instance{slot.Current, slot.Next} {
		if i != nil && (p.op.Kind.Together() || p.service.UpToDate(i)) && i.Seen.Phase >= events.PhasePrepared && i.Seen.Phase <= events.PhaseOnline {
			return reached
		}
	}
	return p.lacks("it is not prepared")
}

// confirmed judges a slot whose instance is to do what the phase asks, where its spec has a hook for that.
func (p *phase) confirmed(ordinal uint32) barrier.Participant {
	i, wanted := p.slot(ordinal).Current, events.Confirmation{Operation: p.op.Started, Attempt: p.op.Attempt, Phase: p.op.Phase}
	switch {
	case i == nil:
	case p.service.Revisions[i.Revision].Spec.Hook(p.op.Phase) == nil:
		return reached
	case i.Confirmed().Operation != wanted.Operation:
	case i.Confirmed().Above(wanted), i.Confirmed() == wanted:
		return reached
	case i.Confirmed().Refused != "" && !wanted.Above(i.Confirmed()):
		return fails(i.Confirmed().Refused)
	}
	return p.lacks("it has not done what its hook asks")
}

// held judges a slot whose instance does its part of a snapshot. One that has come since the others held still cannot: what it
// would give is not of that time.
func (p *phase) held(ordinal uint32) barrier.Participant {
	i := p.slot(ordinal).Current
	if !p.service.Has(ordinal) {
		return reached // it has none any more
	}
	if i == nil {
		return p.lacks("it has no instance")
	}
	spec := p.service.Revisions[i.Revision].Spec
	if p.op.Phase == events.OperationExport && spec.Hook(events.OperationHold) != nil && i.Confirmed().Operation != p.op.Started {
		return fails("the instance that held still is no more")
	}
	if !asksIn(p.op.Phase, spec) {
		return reached
	}
	wanted := events.Confirmation{Operation: p.op.Started, Phase: p.op.Phase}
	switch {
	case i.Confirmed().Operation != wanted.Operation || wanted.Above(i.Confirmed()):
	case i.Confirmed().Refused != "":
		return fails(i.Confirmed().Refused)
	default:
		return reached
	}
	return p.lacks("it has not done its part")
}

// retired judges a slot of which nothing is to be left that goes, as far as nodes that are heard tell: all of it where the topology has it no more
// or the service is to rest, and else what is not as the revision says.
func (p *phase) retired(ordinal uint32) barrier.Participant {
	goes, missing := func(*Instance) bool { return true }, "what it had is not gone"
	if !p.op.Kind.Together() {
		goes, missing = func(i *Instance) bool { return !p.service.UpToDate(i) }, "what it had before is not gone"
	}
	slot := p.slot(ordinal)
	remains := func(i *Instance) bool { return goes(i) && p.cluster.Nodes[i.Node].Heard() }
	stays := p.op.Rescale != nil && !p.goes(ordinal)
	if stays || ((slot.Current == nil || !goes(slot.Current)) && !slices.ContainsFunc(slot.Beside().Leaving, remains)) {
		return reached
	}
	return p.lacks(missing)
}

// watched judges a slot that is to serve throughout.
func (p *phase) watched(ordinal uint32) barrier.Participant {
	if since, serves := p.op.Serves[ordinal]; !serves || since.After(p.op.Entered) {
		return fails("it did not serve throughout the time in which it was watched")
	}
	return p.passed(p.update.Monitor, "the time in which it is watched is not over")
}

func (p *phase) promoted(uint32) barrier.Participant {
	return barrier.Participant{Reached: p.op.Promoted, Missing: "nobody has promoted it"}
}

func (p *phase) delayed(uint32) barrier.Participant {
	return p.passed(p.update.Delay, "the time before the next wave is not over")
}

// passed judges a slot that waits for the phase to have lasted for as long.
func (p *phase) passed(d events.Duration, missing string) barrier.Participant {
	return barrier.Participant{Reached: !p.now.Before(p.op.Entered.Add(time.Duration(d))), Missing: missing}
}

// lacks is a slot that is not done yet, and never will be once the phase has lasted for too long.
func (p *phase) lacks(missing string) barrier.Participant {
	return barrier.Participant{Missing: missing, Broken: p.late(missing)}
}

// late says what is missing once the phase has lasted for too long; "" before.
func (p *phase) late(missing string) string {
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
