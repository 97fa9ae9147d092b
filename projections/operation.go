package projections

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Operation is a change of a service that goes through its slots wave by wave, and with each wave through phases.
type Operation struct {
	// Started is the sequence of its start, which is its name.
	Started uint64
	Kind    events.OperationKind
	// Command is the sequence of the command that it works for, the last one where it went on after a pause; 0 where nobody asked.
	Command uint64 `json:",omitzero"`
	// Revision is what its slots get, and From what those have until their wave; 0 where they shall have nothing else.
	Revision uint64
	From     uint64
	// Rescale is what topology it brings; nil where it brings none. Attempt counts from 1 with each phase that it tries again.
	Rescale *events.Rescale `json:",omitzero"`
	Attempt uint32          `json:",omitzero"`
	// Total counts the slots that take part, Waiting are those whose wave has not come.
	Total   int
	Waiting events.Ordinals
	// Wave counts from 1; 0 before the first. Slots are those of the present one, which has been in its phase since Entered.
	Wave    uint32
	Slots   events.Ordinals
	Phase   events.OperationPhase
	Entered time.Time
	// Prolonged is when a coordinator took it over in the phase, since when that has its whole time; zero where none did.
	Prolonged time.Time `json:",omitzero"`
	// Serves is since when the slots of the wave have served in the revision without a break.
	Serves map[uint32]time.Time
	// GivenUp are the slots of the wave that are waited for no more. Failed counts those of all waves.
	GivenUp events.Ordinals `json:",omitempty"`
	Failed  int
	// Exports are what the volumes with state hold, by ordinal, as a snapshot is taken.
	Exports map[uint32][]events.Export `json:",omitempty"`
	// Promoted says that it shall go on after its canaries.
	Promoted bool `json:",omitzero"`
	// Paused says what failed, where all stays as it is because of that; "" where it goes on.
	Paused string `json:",omitempty"`
}

// EndedOperation is what the last operation of a service came to.
type EndedOperation struct {
	Started  uint64
	Kind     events.OperationKind
	Command  uint64 `json:",omitzero"`
	Revision uint64
	From     uint64          `json:",omitzero"`
	Rescale  *events.Rescale `json:",omitzero"`
	Attempt  uint32          `json:",omitzero"`
	// Wave and Phase are those in which it ended, Failed counts the slots that were given up.
	Wave    uint32
	Phase   events.OperationPhase
	Failed  int `json:",omitzero"`
	Outcome events.OperationOutcome
	// Message says for people what failed; "" where nothing did.
	Message string `json:",omitempty"`
	// Sequence is that of its end, which came At.
	Sequence uint64
	At       time.Time
}

// end keeps what the operation came to, and nothing of what it went through.
func (op *Operation) end(r events.Record, d events.OperationEnded) *EndedOperation {
	return &EndedOperation{
		Started: op.Started, Kind: op.Kind, Command: op.Command, Revision: op.Revision, From: op.From, Rescale: op.Rescale,
		Attempt: op.Attempt, Wave: op.Wave, Phase: op.Phase, Failed: op.Failed + len(d.GivenUp),
		Outcome: d.Outcome, Message: d.Message, Sequence: r.Sequence, At: r.Time,
	}
}

// Waves returns how many waves the service's operation has, where all nodes take what comes: slots that are bound to one which
// does not follow in waves of their own.
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

// Target returns the revision that the next instance of the slot has.
func (s *Service) Target(ordinal uint32) uint64 {
	op := s.Operation
	if op == nil || op.From == 0 || op.Revision != s.Revision || !slices.Contains(op.Waiting, ordinal) {
		return s.Revision
	}
	return op.From
}

// applyOperation takes an event of a service's operation into the state.
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
			s.Suspension.Stopped = true // also where there was nothing that could go
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

// enter begins a phase, and with slots a wave.
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

// serves follows whether a slot of the wave serves in the revision that it shall have. What is said to be online was not
// before, or has begun anew since.
func (s *Service) serves(i *Instance, now time.Time) {
	op := s.Operation
	if op == nil || (!op.Kind.Together() && !s.UpToDate(i)) || i.Retired() != "" || s.isAway(i) || !slices.Contains(op.Slots, i.ID.Ordinal) {
		return
	}
	if i.Seen.Phase == events.PhaseOnline && !i.Lost && !i.Differs {
		op.Serves[i.ID.Ordinal] = now
	} else {
		delete(op.Serves, i.ID.Ordinal)
	}
}

// servesNoMore follows an instance that shall stop, as long as it is said nowhere that it shall.
func (s *Service) servesNoMore(i *Instance) {
	if s.Operation != nil && s.Revision > 0 && (s.Operation.Kind.Together() || s.UpToDate(i)) {
		delete(s.Operation.Serves, i.ID.Ordinal)
	}
}

// steady reports whether every slot serves, in whatever revision, and nothing is left of what shall stop, as far as it is not lost.
func (s *Service) steady() bool {
	if len(s.Slots) < int(s.top()) {
		return false
	}
	for o, slot := range s.Slots {
		if slices.ContainsFunc(slot.Beside().Leaving, func(i *Instance) bool { return !i.Lost }) {
			return false
		}
		if i := slot.Current; (i != nil) != s.Wants(uint32(o)) || (i != nil && (i.Lost || i.Seen.Phase != events.PhaseOnline)) {
			return false
		}
	}
	return true
}

// without returns the ordinals that are not among others, in their order.
func without(all, others events.Ordinals) events.Ordinals {
	gone := make(map[uint32]bool, len(others))
	for _, o := range others {
		gone[o] = true
	}
	return slices.DeleteFunc(all, func(o uint32) bool { return gone[o] })
}
