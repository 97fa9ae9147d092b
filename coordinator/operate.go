package coordinator

import (
	"slices"

	"github.com/rookery-project/rookery/coordinator/operation"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// caseOf returns the service in the form that package operation decides on.
func (t *Turn) caseOf(s *projections.Service) operation.Case {
	return operation.Case{Cluster: t.Cluster, Service: s, Now: t.Now, Board: t.work.board}
}

// operate takes a service through the waves and phases of its operation, and updates what its instances know of each other. It
// reports whether the slots must be repaired once more, because the target has changed.
func (t *Turn) operate(s *projections.Service) bool {
	ended := false // slots outside every wave are due once the operation ends
	for {
		if t.tell(s) {
			return true
		}
		if s.Operation == nil && !t.start(s) {
			return ended
		}
		if s.Operation.Paused != "" {
			return false
		}
		if act := acts[s.Operation.Phase]; act != nil {
			act(t, s)
		}
		t.reserve(operation.MostTold)
		c, v := t.caseOf(s), t.Cluster.Verdict(s, t.Now)
		if c.Broken(v) {
			t.take(s, c.Fail(v))
			return true
		}
		if !t.take(s, c.Advance(v)) {
			return false
		}
		ended = s.Operation == nil
	}
}

// start begins the service's next operation, and reports whether there is one.
func (t *Turn) start(s *projections.Service) bool {
	if d := t.caseOf(s).Start(); d != nil {
		t.emit(events.ServiceScope(s.ID), d)
	}
	return s.Operation != nil
}

// take records what follows for the service's operation, and reports whether anything does.
func (t *Turn) take(s *projections.Service, step operation.Step) bool {
	t.emit(events.ServiceScope(s.ID), step.Told...)
	if step.Reason != "" {
		t.failCommand(s, step.Reason, step.Message)
	}
	t.emit(events.ServiceScope(s.ID), step.Then...)
	return len(step.Told) > 0
}

// failCommand fails the command that the service works for. If the command is a group's, the whole group goes back.
func (t *Turn) failCommand(s *projections.Service, reason events.FailureReason, message string) {
	if g := t.Cluster.GroupOf(s.ID); g != nil {
		t.failed(g, s.ID, message)
		return
	}
	if s.Holder != 0 {
		t.emit(events.ServiceScope(s.ID), events.CommandFailed{Sequence: s.Holder, Reason: reason, Message: message})
	}
}

// endSuperseded ends an operation whose service has another target by now.
func (t *Turn) endSuperseded(s *projections.Service) {
	if t.caseOf(s).Superseded() {
		t.emit(events.ServiceScope(s.ID), events.OperationEnded{Operation: s.Operation.Started, Outcome: events.OperationSuperseded})
	}
}

// tell updates what the service's instances know of each other, if that has changed, and reports whether it has.
func (t *Turn) tell(s *projections.Service) bool {
	if s.Current().Spec.Topology == nil || s.Suspended() {
		return false
	}
	next := t.caseOf(s).Topology()
	if s.Topology != nil && !s.Moved && s.Topology.Equal(next) {
		return false
	}
	t.emit(events.ServiceScope(s.ID), events.TopologyChanged{Topology: next})
	return true
}

// acts lists what the coordinator does in each phase with the slots of the wave. In the other phases instances and operators
// act.
var acts = map[events.OperationPhase]func(*Turn, *projections.Service){
	events.OperationPrepare: (*Turn).startWave,
	events.OperationStart: func(t *Turn, s *projections.Service) {
		t.startWave(s)
		t.fill(s, s.Wanted())
	},
	events.OperationRetire: (*Turn).retireWave,
}

// startWave places the next instances of the wave's slots beside their present ones.
func (t *Turn) startWave(s *projections.Service) {
	if s.Operation.Kind.Together() || !s.Current().Spec.StartsFirst() {
		return
	}
	for _, slot := range waveOf(s) {
		i := slot.Current
		if i == nil || s.UpToDate(i) || slot.Next != nil {
			continue
		}
		if !t.placeBeside(s, i, s.Revision) && !s.Current().Spec.BehindBarrier() && t.work.board.CouldInstead(s, i) {
			t.retire(i, events.RetireMakesRoom)
		}
	}
}

// retireWave retires the former instances of the wave's slots, unless no instance can replace them. If the operation has given
// a successor up while the former instance serves, the former one stays, and the successor stops.
func (t *Turn) retireWave(s *projections.Service) {
	switch {
	case s.Suspended():
		t.retireAll(s, events.RetireSuspended)
		return
	case s.Operation.Kind.Together():
		return // the topology's steps retire its former instances
	}
	for _, slot := range waveOf(s) {
		i, reason := slot.Current, events.RetireRevised
		switch {
		case i == nil || s.UpToDate(i):
			continue
		case t.failedBeside(s, slot):
			i, reason = slot.Next, events.RetireMoveFailed
		case !t.mayGo(s, slot):
			continue
		}
		t.retire(i, reason)
	}
}

// failedBeside reports whether the slot has a successor that the operation gave up, beside an instance that serves.
func (t *Turn) failedBeside(s *projections.Service, slot *projections.Slot) bool {
	return slot.Next != nil && slices.Contains(s.Operation.GivenUp, slot.Next.ID.Ordinal) && !t.Cluster.Serves(slot.Next) && t.Cluster.Serves(slot.Current)
}

// mayGo reports whether the successor of the slot's instance exists, or will find a node. When all slots are replaced at once,
// the coordinator cannot tell beforehand, and lets the instance go.
func (t *Turn) mayGo(s *projections.Service, slot *projections.Slot) bool {
	i := slot.Current
	if slices.Contains(s.Operation.GivenUp, i.ID.Ordinal) && slot.Next == nil && s.Current().Spec.StartsFirst() && t.Cluster.Serves(i) {
		return false // its successor has failed
	}
	return slot.Next != nil || s.Current().Spec.AllAtOnce() ||
		(!s.Current().Spec.StartsFirst() && t.work.board.Could(s, i.ID.Ordinal)) || t.work.board.CouldInstead(s, i)
}

// waveOf returns the existing slots of the wave.
func waveOf(s *projections.Service) []*projections.Slot {
	var slots []*projections.Slot
	for _, o := range s.Operation.Slots {
		if s.Wants(o) && int(o) < len(s.Slots) {
			slots = append(slots, s.Slots[o])
		}
	}
	return slots
}

// clears reports whether the slot's wave waits until the former instances are gone, before it starts the next ones.
func clears(s *projections.Service, ordinal uint32) bool {
	op := s.Operation
	return op != nil && !op.Kind.Together() && op.Paused == "" && op.Phase == events.OperationRetire && !s.Current().Spec.StartsFirst() &&
		slices.Contains(op.Slots, ordinal)
}
