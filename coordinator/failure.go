package coordinator

import (
	"fmt"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/barrier"
)

// tooManyBroken reports whether more slots of an update have failed than the spec lets go.
func tooManyBroken(s *projections.Service, v barrier.Verdict) bool {
	u, op := s.Current().Spec.Updates(), s.Operation
	if len(v.Broken) == 0 || u.OnFailure == events.FailureContinue {
		return false
	}
	return float64(op.Failed+len(v.Broken)) > float64(u.MaxFailureRatio)*float64(op.Total)
}

// failWave does what the spec says of an update of which too much has failed. One that goes back already has nothing to go back to.
func failWave(f failing) failure {
	s, op := f.service, f.service.Operation
	over := behindBarrier(s) && op.Phase == events.OperationRetire // all that came is good: what does not go is no reason to go back
	if s.Current().Spec.Updates().OnFailure == events.FailureRollback && !over && op.Kind != events.OperationRollback && s.Good != nil {
		if back, err := cancel(f.cluster, s); err == nil && len(back) > 0 {
			return failure{f.ended(events.OperationRolledBack), events.ReasonRolledBack, back}
		}
	}
	return failure{
		told: events.OperationPaused{Operation: op.Started, GivenUp: ordinalsOf(f.verdict.Broken), Message: f.message}, reason: events.ReasonPaused,
	}
}

// leave pauses an update that is through all its waves, but for slots that kept what they had because no node could have what
// comes: going on would try them again and again.
func (t *Turn) leave(s *projections.Service, left events.Ordinals) {
	op := s.Operation
	message := fmt.Sprintf("%s to revision %d is through all its waves, and slots %s have kept what they had", op.Kind, op.Revision, left)
	if said := t.detail(s, left[0]); said != "" {
		message += " (" + said + ")"
	}
	t.emit(events.ServiceScope(s.ID), events.OperationPaused{Operation: op.Started, GivenUp: left, Message: message})
	t.failCommand(s, events.ReasonPaused, message)
}

// failCommand ends the command that the service works for. Where that is of a group, all of it goes back.
func (t *Turn) failCommand(s *projections.Service, reason events.FailureReason, message string) {
	if g := t.Cluster.GroupOf(s.ID); g != nil {
		t.failed(g, s.ID, message)
		return
	}
	if s.Holder != 0 {
		t.emit(events.ServiceScope(s.ID), events.CommandFailed{Sequence: s.Holder, Reason: reason, Message: message})
	}
}

// why says for people what failed: of the slots the first one, and how many more.
func (t *Turn) why(s *projections.Service, broken []barrier.Participant) string {
	op, first := s.Operation, broken[0]
	text := fmt.Sprintf("%s, phase %s: slot %d: %s", kinds[op.Kind].title(op), op.Phase, first.Ordinal, first.Broken)
	if said := t.detail(s, first.Ordinal); said != "" {
		text += " (" + said + ")"
	}
	if more := len(broken) - 1; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// detail says for people what is known of why the slot is not done: its instance of the revision is offline, or no node can
// have one; "" for nothing.
func (t *Turn) detail(s *projections.Service, ordinal uint32) string {
	slot := &projections.Slot{}
	if int(ordinal) < len(s.Slots) {
		slot = s.Slots[ordinal]
	}
	for _, i := range [...]*projections.Instance{slot.Next, slot.Current} {
		loop := ""
		if i != nil {
			loop = s.CrashLoop(ordinal, i.Revision)
		}
		switch {
		case i == nil || !s.UpToDate(i):
		case loop != "" && i.Seen.Phase != events.PhaseOnline:
			return fmt.Sprintf("%s is in a %s", i.ID, loop)
		case i.Seen.Phase == events.PhaseOffline:
			return strings.TrimSpace(fmt.Sprintf("%s is offline: %s %s", i.ID, i.Reason, i.Message))
		case i.Lost:
			return fmt.Sprintf("%s is lost with %s", i.ID, i.Node)
		case i.Seen.Phase == events.PhaseOnline:
			return ""
		default:
			return fmt.Sprintf("%s is %s", i.ID, i.Seen.Phase)
		}
	}
	d := t.agenda.board.Choose(s, ordinal)
	if slot.Current != nil {
		d = t.agenda.board.ChooseBeside(s, slot.Current, s.Revision)
	}
	if d.Node != nil {
		return ""
	}
	return projections.Reasons(*d.Pending)
}
