package coordinator

import (
	"fmt"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/barrier"
)

// broken reports whether more slots have failed than the spec lets go.
func (t *Turn) broken(s *projections.Service, v barrier.Verdict) bool {
	u, op := s.Current().Spec.Updates(), s.Operation
	switch op.Kind {
	case events.OperationRescale:
		return len(v.Broken) > 0 && (givesUp(s) || (op.Rescale.Back && triesAgain(s)))
	case events.OperationSnapshot, events.OperationSuspend:
		return len(v.Broken) > 0
	case events.OperationUpdate, events.OperationRestart, events.OperationRollback:
	}
	if len(v.Broken) == 0 || u.OnFailure == events.FailureContinue {
		return false
	}
	return float64(op.Failed+len(v.Broken)) > float64(u.MaxFailureRatio)*float64(op.Total)
}

// fail does what the spec says of an update of which too much has failed, and ends the command with it. One that goes back
// already has nothing to go back to.
func (t *Turn) fail(s *projections.Service, v barrier.Verdict) {
	op, scope, message := s.Operation, events.ServiceScope(s.ID), t.why(s, v.Broken)
	switch op.Kind {
	case events.OperationRescale:
		t.failRescale(s, v, message)
		return
	case events.OperationSnapshot:
		t.failSnapshot(s, v, message)
		return
	case events.OperationSuspend:
		t.failSuspend(s, v, message)
		return
	case events.OperationUpdate, events.OperationRestart, events.OperationRollback:
	}
	over := behindBarrier(s) && op.Phase == events.OperationRetire // all that came is good: what does not go is no reason to go back
	if s.Current().Spec.Updates().OnFailure == events.FailureRollback && !over && op.Kind != events.OperationRollback && s.Good != nil {
		if back, err := cancel(t.Cluster, s); err == nil && len(back) > 0 {
			t.emit(scope, events.OperationEnded{
				Operation: op.Started, Outcome: events.OperationRolledBack, GivenUp: ordinalsOf(v.Broken), Message: message,
			})
			t.failCommand(s, events.ReasonRolledBack, message)
			for _, change := range back {
				t.emit(scope, change)
			}
			return
		}
	}
	t.emit(scope, events.OperationPaused{Operation: op.Started, GivenUp: ordinalsOf(v.Broken), Message: message})
	t.failCommand(s, events.ReasonPaused, message)
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
	text := fmt.Sprintf("%s, phase %s: slot %d: %s", titleOf(op), op.Phase, first.Ordinal, first.Broken)
	if said := t.detail(s, first.Ordinal); said != "" {
		text += " (" + said + ")"
	}
	if more := len(broken) - 1; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// titleOf says for people what the operation does, and how far it is.
func titleOf(op *projections.Operation) string {
	if r := op.Rescale; r != nil {
		return fmt.Sprintf("%s from %d to %d, attempt %d", op.Kind, r.From, r.To, op.Attempt)
	}
	if op.Kind == events.OperationSnapshot || op.Kind == events.OperationSuspend {
		return string(op.Kind)
	}
	return fmt.Sprintf("%s to revision %d, wave %d", op.Kind, op.Revision, op.Wave)
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
