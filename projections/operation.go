package projections

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Operation is a change of a service that goes through its slots wave by wave, and with each wave through phases.
type Operation struct {
	// Started is the sequence of its start, which identifies the operation.
	Started uint64
	Kind    events.OperationKind
	// Command is the sequence of the command that it carries out; after a pause, of the command that resumed it. It is 0 where no command
	// asked for the operation.
	Command uint64 `json:",omitzero"`
	// Revision is the revision that its slots get. From is what a slot gets that must be replaced before its wave; 0 for none.
	Revision uint64
	From     uint64
	// Rescale is the change of topology that it makes; nil for none. Attempt starts at 1 and counts each retry of a phase.
	Rescale *events.Rescale `json:",omitzero"`
	Attempt uint32          `json:",omitzero"`
	// Total counts the slots that take part. Waiting are the slots whose wave has not begun.
	Total   int
	Waiting events.Ordinals
	// Wave is the present wave, from 1; 0 before the first. Slots are the slots of that wave, which has been in its phase since Entered.
	Wave    uint32
	Slots   events.Ordinals
	Phase   events.OperationPhase
	Entered time.Time
	// Prolonged is when a new leader took the operation over in this phase. The phase has its whole time from then on. It is zero where
	// no failover happened.
	Prolonged time.Time `json:",omitzero"`
	// Serves says since when each slot of the wave has served in the revision without a break.
	Serves map[uint32]time.Time
	// GivenUp are the slots of the wave for which the operation no longer waits. Failed counts them over all waves.
	GivenUp events.Ordinals `json:",omitempty"`
	Failed  int
	// Exports are the exported contents of the volumes with state, by ordinal, while a snapshot is taken.
	Exports map[uint32][]events.Export `json:",omitempty"`
	// Promoted says that an operator lets the operation continue after its canaries.
	Promoted bool `json:",omitzero"`
	// Paused says which failure has paused the operation; "" while it runs.
	Paused string `json:",omitempty"`
}

// EndedOperation is the outcome of a service's last operation.
type EndedOperation struct {
	Started  uint64
	Kind     events.OperationKind
	Command  uint64 `json:",omitzero"`
	Revision uint64
	From     uint64          `json:",omitzero"`
	Rescale  *events.Rescale `json:",omitzero"`
	Attempt  uint32          `json:",omitzero"`
	// Wave and Phase are those in which it ended. Failed counts the slots that it gave up.
	Wave    uint32
	Phase   events.OperationPhase
	Failed  int `json:",omitzero"`
	Outcome events.OperationOutcome
	// Message tells an operator what failed; "" where nothing did.
	Message string `json:",omitempty"`
	// Sequence is the sequence of its end, and At the time.
	Sequence uint64
	At       time.Time
}

// end returns the outcome of the operation, without its progress.
func (op *Operation) end(r events.Record, d events.OperationEnded) *EndedOperation {
	return &EndedOperation{
		Started: op.Started, Kind: op.Kind, Command: op.Command, Revision: op.Revision, From: op.From, Rescale: op.Rescale,
		Attempt: op.Attempt, Wave: op.Wave, Phase: op.Phase, Failed: op.Failed + len(d.GivenUp),
		Outcome: d.Outcome, Message: d.Message, Sequence: r.Sequence, At: r.Time,
	}
}

// Waves returns how many waves the service's operation has if all nodes are ready. Slots that are bound to a node which is not
// ready follow in waves of their own.
func (s *Service) Waves() uint32 {
	op, u := s.Operation, s.Current().Spec.Updates()
	if op.Kind.Together() {
		return 1
	}
	waves, waiting := op.Wave, len(op.Waiting)
	if waiting > 0 { // the canaries may be among them
		waiting -= u.WaveSize(waves, waiting)
		waves++
	}
	if waiting > 0 {
		size := u.WaveSize(waves, waiting)
		waves += uint32((waiting + size - 1) / size)
	}
	return waves
}

// AwaitsPromotion reports whether canaries serve and the operation goes on only when an operator promotes them.
func (op *Operation) AwaitsPromotion() bool {
	return op != nil && op.Phase == events.OperationPromote && !op.Promoted && op.Paused == ""
}

// Target returns the revision of the slot's next instance.
func (s *Service) Target(ordinal uint32) uint64 {
	op := s.Operation
	if op == nil || op.From == 0 || op.Revision != s.Revision || !slices.Contains(op.Waiting, ordinal) {
		return s.Revision
	}
	return op.From
}

// applyOperation applies an event about a service's operation to the state.
func (c *Cluster) applyOperation(r events.Record) bool {
	id, _ := r.Scope.Service()
	s := c.service(id)
	if d, starts := r.Data.(events.OperationStarted); starts {
		s.Operation = &Operation{
			Started: r.Sequence, Kind: d.Operation, Command: s.Holder, Revision: d.Revision, From: d.From, Total: len(d.Slots), Waiting: slices.Clone(d.Slots),
			Rescale: d.Rescale, Entered: r.Time, Serves: map[uint32]time.Time{},
		}
		return true
	}
	op := s.Operation
	if op == nil {
		return true
	}
	switch d := r.Data.(type) {
	case events.OperationEntered:
		s.enter(d, r.Time)
		if op.Kind.Snapshots() {
			c.enterSnapshot(r, s)
		}
	case events.OperationProlonged:
		op.Prolonged = r.Time
	case events.OperationPromoted:
		op.Promoted = true
	case events.OperationPaused:
		op.Paused = d.Message
	case events.OperationResumed:
		op.Paused, op.Entered, op.Prolonged, op.Command = "", r.Time, time.Time{}, s.Holder
	case events.OperationEnded:
		s.Operation, s.Last = nil, op.end(r, d)
		if op.Kind == events.OperationSuspend && d.Outcome == events.OperationDone && s.Suspension != nil {
			s.Suspension.Stopped = true // also where no instance was left to stop
		}
		if op.Kind.Snapshots() {
			c.ask(r, s)
			if s.Snapshots.Wanted < op.Started {
				s.Snapshots.Wanted = 0
			}
		}
		for number := range s.Revisions {
			s.trimRevision(number)
		}
	default:
		return false
	}
	return true
}

// enter begins a phase, and a wave too where the event names slots.
func (s *Service) enter(d events.OperationEntered, now time.Time) {
	op := s.Operation
	op.GivenUp = append(op.GivenUp, d.GivenUp...)
	op.Failed += len(d.GivenUp)
	op.Wave, op.Phase, op.Attempt, op.Entered, op.Prolonged = d.Wave, d.Phase, d.Attempt, now, time.Time{}
	if len(d.Slots) == 0 {
		return
	}
	op.Slots, op.GivenUp, op.Serves = slices.Clone(d.Slots), nil, map[uint32]time.Time{}
	op.Waiting = without(op.Waiting, d.Slots)
	for _, o := range d.Slots {
		if int(o) >= len(s.Slots) {
			continue
		}
		for _, i := range [...]*Instance{s.Slots[o].Current, s.Slots[o].Next} {
			if i != nil {
				s.serves(i, now)
			}
		}
	}
}

// serves notes whether a slot of the wave serves in its target revision. A node reports an instance online when it comes
// online or starts again, so the time counts from this report.
func (s *Service) serves(i *Instance, now time.Time) {
	op := s.Operation
	if op == nil || (!op.Kind.Together() && !s.UpToDate(i)) || i.Retired() != "" || s.isDisconnected(i) || !slices.Contains(op.Slots, i.ID.Ordinal) {
		return
	}
	if i.Seen.Phase == events.PhaseOnline && !i.Lost && !i.Differs {
		op.Serves[i.ID.Ordinal] = now
	} else {
		delete(op.Serves, i.ID.Ordinal)
	}
}

// servesNoMore notes that an instance must stop. The caller calls it before the instance is marked as retired or lost.
func (s *Service) servesNoMore(i *Instance) {
	if s.Operation != nil && s.Revision > 0 && (s.Operation.Kind.Together() || s.UpToDate(i)) {
		delete(s.Operation.Serves, i.ID.Ordinal)
	}
}

// steady reports whether every slot serves, in any revision, and every terminating instance is gone or lost.
func (s *Service) steady() bool {
	if len(s.Slots) < int(s.top()) {
		return false
	}
	for o, slot := range s.Slots {
		if slices.ContainsFunc(slot.Beside().Terminating, func(i *Instance) bool { return !i.Lost }) {
			return false
		}
		if i := slot.Current; (i != nil) != s.Wants(uint32(o)) || (i != nil && (i.Lost || i.Seen.Phase != events.PhaseOnline)) {
			return false
		}
	}
	return true
}

// without returns the ordinals of all that are not in others, in the order of all.
func without(all, others events.Ordinals) events.Ordinals {
	gone := make(map[uint32]bool, len(others))
	for _, o := range others {
		gone[o] = true
	}
	return slices.DeleteFunc(all, func(o uint32) bool { return gone[o] })
}
