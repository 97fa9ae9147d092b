package coordinator

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/barrier"
)

// maxStep is the most events that a verdict leads to: the operation's end, that of its
// command, and the two changes of a rollback.
const maxStep = 4

// operate takes a service through the waves and phases of its operation, and has its instances told of each other. It reports
// whether its slots are to be mended once more, because it shall be something else now.
func (t *Turn) operate(s *projections.Service) bool {
	ended := false // what no slot of a wave may have is due then
	for {
		if t.tell(s) {
			return true
		}
		if s.Operation == nil && !t.startOperation(s) {
			return ended
		}
		if s.Operation.Paused != "" {
			return false
		}
		t.act(s)
		t.reserve(maxStep)
		v := t.Cluster.Verdict(s, t.Now)
		if kinds[s.Operation.Kind].broken(s, v) {
			t.fail(s, v)
			return true
		}
		if v.State == barrier.Waiting || !t.advance(s, v) {
			return false
		}
		ended = s.Operation == nil
	}
}

// endSuperseded ends an operation whose service shall be something else by now.
func (t *Turn) endSuperseded(s *projections.Service) {
	if op := s.Operation; op != nil && superseded(s) {
		t.emit(events.ServiceScope(s.ID), events.OperationEnded{Operation: op.Started, Outcome: events.OperationSuperseded})
	}
}

// staleRevision reports whether the service is to be of another revision by now than its operation brings.
func staleRevision(s *projections.Service) bool {
	return s.Dropped || s.Suspension != nil || s.Operation.Revision != s.Revision
}

// outdated returns the slots that have an instance which the revision does not keep, without those that go. Those that do not
// serve come first: nothing is lost with them.
func (t *Turn) outdated(s *projections.Service) events.Ordinals {
	if !s.Rolling() {
		return nil
	}
	var down, serve events.Ordinals
	for o, slot := range s.Slots {
		switch i := slot.Current; {
		case i == nil || s.UpToDate(i) || !s.Wants(uint32(o)) || s.Excused(uint32(o)):
		case i.Seen.Phase == events.PhaseOnline && !i.Lost && t.Cluster.Nodes[i.Node].Heard():
			serve = append(serve, uint32(o))
		default:
			down = append(down, uint32(o))
		}
	}
	return append(down, serve...)
}

// startOperation begins one where instances are of earlier revisions, or else the topology is another one than it shall be: what
// the next revision mends may be what keeps instances from following. A topology that was left in the middle of a change comes
// first, as nobody may serve what moved; a snapshot comes last. What shall rest is of no other revision before, and of no other
// topology once it rests. It reports whether any of that is so.
func (t *Turn) startOperation(s *projections.Service) bool {
	if s.Resting() {
		return false
	}
	slots := t.outdated(s)
	if s.Suspension != nil {
		slots = nil
	}
	if s.Rescales() && (len(slots) == 0 || s.Topology.Change != nil) {
		t.startRescale(s)
		return true
	}
	if s.Suspension != nil {
		t.startSuspend(s)
		return true
	}
	if len(slots) == 0 && s.Snapshots.Wanted > 0 {
		return t.startSnapshot(s)
	}
	if len(slots) == 0 {
		return false
	}
	t.emit(events.ServiceScope(s.ID), events.OperationStarted{
		Operation: t.kindOf(s), Revision: s.Revision, From: fallback(s), Slots: slots,
	})
	return true
}

// fallback returns the revision in which all was last as it should be, which slots keep until their wave; 0 for none.
func fallback(s *projections.Service) uint64 {
	if s.Good == nil || s.Good.Revision == s.Revision {
		return 0
	}
	if r := s.Revisions[s.Good.Revision]; r == nil || r.Spec.Mode != s.Current().Spec.Mode {
		return 0
	}
	return s.Good.Revision
}

// act does what the phase asks for.
func (t *Turn) act(s *projections.Service) {
	switch s.Operation.Phase {
	case events.OperationPrepare:
		t.startWave(s)
	case events.OperationStart:
		t.startWave(s)
		t.fill(s, s.Wanted())
	case events.OperationRetire:
		t.retireWave(s)
	case events.OperationRelease, events.OperationAcquire, events.OperationHold, events.OperationExport, events.OperationMonitor,
		events.OperationPromote, events.OperationDelay, events.OperationWait:
	}
}

// startWave has the slots of the wave get their next instances beside those that they have.
func (t *Turn) startWave(s *projections.Service) {
	if s.Operation.Together() || !startsFirst(s) {
		return
	}
	for _, slot := range waveOf(s) {
		i := slot.Current
		if i == nil || s.UpToDate(i) || slot.Next != nil {
			continue
		}
		if d := t.agenda.board.ChooseBeside(s, i, s.Revision); d.Node != nil {
			placed := t.placement(s, i.ID.Ordinal, s.Target(i.ID.Ordinal), d)
			placed.Replaces = i.ID.Generation
			t.emit(events.ServiceScope(s.ID), placed)
		} else if !behindBarrier(s) && t.agenda.board.CouldInstead(s, i) {
			t.retire(i, events.RetireMakesRoom)
		}
	}
}

// retireWave has what the slots of the wave had before go, but for what nothing follows. Where a successor was given up, and what was before
// serves, that stays, and the successor goes.
func (t *Turn) retireWave(s *projections.Service) {
	switch {
	case s.Resting():
		t.retireAll(s, events.RetireSuspended)
		return
	case s.Operation.Together():
		return // what the topology has no more goes by that
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

// failedBeside reports whether the slot has a successor that was given up beside an instance that serves.
func (t *Turn) failedBeside(s *projections.Service, slot *projections.Slot) bool {
	return slot.Next != nil && slices.Contains(s.Operation.GivenUp, slot.Next.ID.Ordinal) && !t.Cluster.Serves(slot.Next) && t.Cluster.Serves(slot.Current)
}

// mayGo reports whether what follows the slot's instance is there, or will find a node. Where all go at once, nobody can
// tell.
func (t *Turn) mayGo(s *projections.Service, slot *projections.Slot) bool {
	i := slot.Current
	if slices.Contains(s.Operation.GivenUp, i.ID.Ordinal) && slot.Next == nil && startsFirst(s) && t.Cluster.Serves(i) {
		return false // its successor has failed
	}
	return slot.Next != nil || allAtOnce(s) ||
		(!startsFirst(s) && t.agenda.board.Could(s, i.ID.Ordinal)) || t.agenda.board.CouldInstead(s, i)
}

// allAtOnce reports whether all of before go before any comes.
func allAtOnce(s *projections.Service) bool {
	return s.Current().Spec.Updates().Strategy != events.UpdateRolling && !startsFirst(s)
}

// waveOf returns the slots of the wave that there are.
func waveOf(s *projections.Service) []*projections.Slot {
	var slots []*projections.Slot
	for _, o := range s.Operation.Slots {
		if s.Wants(o) && int(o) < len(s.Slots) {
			slots = append(slots, s.Slots[o])
		}
	}
	return slots
}

// advance begins the next phase, or the next wave, or ends the operation. It reports false where all slots that are left
// wait for their nodes.
func (t *Turn) advance(s *projections.Service, v barrier.Verdict) bool {
	op, scope, givenUp := s.Operation, events.ServiceScope(s.ID), ordinalsOf(v.Broken)
	if op.Phase == events.OperationExport {
		t.commitSnapshot(s)
	}
	if next := nextPhase(s); next != "" {
		t.emit(scope, entered(s, t.Now, events.OperationEntered{Wave: op.Wave, Phase: next, GivenUp: givenUp}))
		return true
	}
	if waits := func(o uint32) bool { return op.Together() || !s.Excused(o) }; !slices.ContainsFunc(op.Waiting, waits) {
		if left := t.outdated(s); !op.Together() && len(left) > 0 {
			t.leave(s, left)
			return true
		}
		t.emit(scope, events.OperationEnded{Operation: op.Started, Outcome: events.OperationDone, GivenUp: givenUp})
		if op.Kind == events.OperationSuspend {
			t.tellWhatMayRun(s)
		}
		return true
	}
	slots := t.nextWave(s)
	switch {
	case len(slots) > 0:
		t.emit(scope, entered(s, t.Now, events.OperationEntered{Wave: op.Wave + 1, Phase: phasesOf(s)[0], Slots: slots, GivenUp: givenUp}))
	case op.Phase == events.OperationWait:
		return false
	default:
		t.emit(scope, entered(s, t.Now, events.OperationEntered{Wave: op.Wave, Phase: events.OperationWait, GivenUp: givenUp}))
	}
	return true
}

// entered says which operation it is of, and until when the phase goes on.
func entered(s *projections.Service, now time.Time, d events.OperationEntered) events.OperationEntered {
	d.Operation = s.Operation.Started
	if s.Operation.Rescale != nil {
		d.Attempt = max(d.Attempt, s.Operation.Attempt, 1)
	}
	if lasts := s.Current().Spec.Updates().Lasts(d.Phase); lasts > 0 {
		d.Until = now.Add(lasts)
	}
	return d
}

// nextWave returns the slots that have waited longest, of those whose next instance is not bound to a node which takes none.
func (t *Turn) nextWave(s *projections.Service) events.Ordinals {
	if s.Operation.Together() {
		return slices.Clone(s.Operation.Waiting)
	}
	var slots events.Ordinals
	size := s.Current().Spec.Updates().WaveSize(wavesSeen(s), len(s.Operation.Waiting))
	for _, o := range s.Operation.Waiting {
		if len(slots) == size {
			break
		}
		if t.free(s, o) {
			slots = append(slots, o)
		}
	}
	return slots
}

// wavesSeen returns how many waves the operation has had. There was none as long as nothing was seen of the last, because the nodes
// of all its slots are lost: canaries come again then, unless an operator has promoted those.
func wavesSeen(s *projections.Service) uint32 {
	op := s.Operation
	seen := func(o uint32) bool { return !s.Excused(o) }
	if op.Promoted || slices.ContainsFunc(op.Slots, seen) {
		return op.Wave
	}
	return 0
}

// free reports whether the slot's next instance may be on another node, or that node takes it.
func (t *Turn) free(s *projections.Service, ordinal uint32) bool {
	if !s.Wants(ordinal) || int(ordinal) >= len(s.Slots) || s.Slots[ordinal].Current == nil {
		return true
	}
	if s.Current().Spec.Global() && t.agenda.board.Could(s, ordinal) {
		return true
	}
	bound := s.Current().Spec.Global() || s.Home(ordinal) != ""
	return !bound || t.Cluster.Nodes[s.Slots[ordinal].Current.Node].Ready()
}

func ordinalsOf(participants []barrier.Participant) events.Ordinals {
	var ordinals events.Ordinals
	for _, p := range participants {
		ordinals = append(ordinals, p.Ordinal)
	}
	return ordinals
}
