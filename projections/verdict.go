package projections

import (
	"fmt"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections/barrier"
)

// judges has, for each phase, the function that says whether a slot is done, what it still lacks, and why it has failed. Phase wait has no
// row, because no slot takes part in it.
var judges = map[events.OperationPhase]struct {
	judge func(p *phase, ordinal uint32) barrier.Participant
	// whatever says that the phase waits in any case, also for slots that no longer take part: it waits for an operator, or for a time.
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

// reached is the result for a slot that is done with the phase.
var reached = barrier.Participant{Reached: true}

// fails returns the result for a slot that can never be done.
func fails(why string) barrier.Participant { return barrier.Participant{Broken: why} }

// phase is the phase of a wave, at one time.
type phase struct {
	cluster *Cluster
	service *Service
	op      *Operation
	update  events.Update
	now     time.Time
}

// Verdict says whether the wave of the service's operation is done with its phase at this time. The operation does not wait for
// slots that no longer exist or that it has given up.
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

// takesPart reports whether the phase waits for the slot. An operation whose slots go together waits for all of them.
func (p *phase) takesPart(ordinal uint32) bool {
	return p.op.Kind.Together() || (p.service.Wants(ordinal) && !p.service.Excused(ordinal))
}

// slot returns the slot; an empty one if the service does not have it yet, or no longer has it.
func (p *phase) slot(ordinal uint32) *Slot {
	if int(ordinal) >= len(p.service.Slots) {
		return &Slot{}
	}
	return p.service.Slots[ordinal]
}

// goes reports whether the operation removes the slot. Such a slot does not have to be prepared or to serve.
func (p *phase) goes(ordinal uint32) bool { return p.op.Rescale != nil && ordinal >= p.op.Rescale.To }

// started judges a slot whose new instance must serve for min_healthy.
func (p *phase) started(ordinal uint32) barrier.Participant {
	least := time.Duration(*p.update.MinHealthy)
	since, serves := p.op.Serves[ordinal]
	if p.goes(ordinal) || (serves && !p.now.Before(since.Add(least))) {
		return reached
	}
	return p.lacks(fmt.Sprintf("it has not served for %s", least))
}

// prepared judges a slot whose new instance must be prepared.
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

// confirmed judges a slot whose instance must run the phase's hook, if its spec has one.
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
	return p.lacks("its hook has not succeeded")
}

// held judges a slot whose instance must do its part of a snapshot. An instance that came after phase hold cannot: its data is not of
// the time at which the others held still.
func (p *phase) held(ordinal uint32) barrier.Participant {
	i := p.slot(ordinal).Current
	if !p.service.Has(ordinal) {
		return reached // the service no longer has the slot
	}
	if i == nil {
		return p.lacks("it has no instance")
	}
	spec := p.service.Revisions[i.Revision].Spec
	if p.op.Phase == events.OperationExport && spec.Hook(events.OperationHold) != nil && i.Confirmed().Operation != p.op.Started {
		return fails("the instance that ran its hold hook is gone")
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
	return p.lacks("it has not done its part of the snapshot")
}

// retired judges a slot whose instances must be gone from all nodes that send heartbeats. If the topology no longer has the slot or the
// service is suspended, all its instances must go. Otherwise only the instances that are not up to date must go.
func (p *phase) retired(ordinal uint32) barrier.Participant {
	goes, missing := func(*Instance) bool { return true }, "its instances are not gone"
	if !p.op.Kind.Together() {
		goes, missing = func(i *Instance) bool { return !p.service.UpToDate(i) }, "its previous instances are not gone"
	}
	slot := p.slot(ordinal)
	remains := func(i *Instance) bool { return goes(i) && p.cluster.Nodes[i.Node].Live() }
	stays := p.op.Rescale != nil && !p.goes(ordinal)
	if stays || ((slot.Current == nil || !goes(slot.Current)) && !slices.ContainsFunc(slot.Beside().Terminating, remains)) {
		return reached
	}
	return p.lacks(missing)
}

// watched judges a slot that must serve without a break during phase monitor.
func (p *phase) watched(ordinal uint32) barrier.Participant {
	if since, serves := p.op.Serves[ordinal]; !serves || since.After(p.op.Entered) {
		return fails("it stopped serving while it was monitored")
	}
	return p.passed(p.update.Monitor, "its monitor time is not over")
}

func (p *phase) promoted(uint32) barrier.Participant {
	return barrier.Participant{Reached: p.op.Promoted, Missing: "no operator has promoted it"}
}

func (p *phase) delayed(uint32) barrier.Participant {
	return p.passed(p.update.Delay, "the delay before the next wave is not over")
}

// passed judges a slot that is done once the phase has lasted for d.
func (p *phase) passed(d events.Duration, missing string) barrier.Participant {
	return barrier.Participant{Reached: !p.now.Before(p.op.Entered.Add(time.Duration(d))), Missing: missing}
}

// lacks returns the result for a slot that is not done yet. It has failed once the phase has passed its deadline.
func (p *phase) lacks(missing string) barrier.Participant {
	return barrier.Participant{Missing: missing, Broken: p.late(missing)}
}

// late says what is missing once the phase has passed its deadline; "" before.
func (p *phase) late(missing string) string {
	if p.now.Before(p.op.since().Add(time.Duration(p.update.HealthyDeadline))) {
		return ""
	}
	return fmt.Sprintf("%s within %s", missing, time.Duration(p.update.HealthyDeadline))
}

// Until returns when the phase of the service's operation ends, or when the slots that are not done have failed. It returns the
// zero time where the phase waits for an operator or for nodes.
func (s *Service) Until() time.Time {
	lasts := s.Current().Spec.Updates().Lasts(s.Operation.Phase)
	if lasts == 0 {
		return time.Time{}
	}
	return s.Operation.since().Add(lasts)
}

// since returns when the deadline of the phase starts. After a failover it starts again, because no leader took the nodes' reports in
// between.
func (o *Operation) since() time.Time {
	if o.Prolonged.After(o.Entered) {
		return o.Prolonged
	}
	return o.Entered
}
