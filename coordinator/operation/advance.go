package operation

import (
	"fmt"
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections/barrier"
)

// MostTold is the most events of a step: the operation's end, its command's end, and the two changes of a rollback.
const MostTold = 4

// Advance returns the start of the next phase or wave, or the operation's end. The step is empty while a slot of the wave is not done, and while
// all remaining slots wait for their nodes.
func (c Case) Advance(v barrier.Verdict) Step {
	if v.State == barrier.Waiting {
		return Step{}
	}
	op, givenUp := c.Service.Operation, ordinalsOf(v.Broken)
	step := Step{}
	if op.Phase == events.OperationExport {
		step.Told = append(step.Told, c.committed())
	}
	enter := func(d events.OperationEntered) Step {
		d.GivenUp = givenUp
		step.Told = append(step.Told, c.Entered(d))
		return step
	}
	if next := c.nextPhase(); next != "" {
		return enter(events.OperationEntered{Wave: op.Wave, Phase: next})
	}
	if waits := func(o uint32) bool { return op.Kind.Together() || !c.Service.Excused(o) }; !slices.ContainsFunc(op.Waiting, waits) {
		return c.end(step, givenUp)
	}
	if slots := c.nextWave(); len(slots) > 0 {
		next := c.kind().phases(c)[0]
		return enter(events.OperationEntered{Wave: op.Wave + 1, Phase: next, Slots: slots})
	}
	if op.Phase == events.OperationWait {
		return Step{}
	}
	return enter(events.OperationEntered{Wave: op.Wave, Phase: events.OperationWait})
}

// end ends an operation that is through all its waves. An operation that left slots in their old revision, because no node had room for the new
// one, pauses instead: another attempt would fail in the same way.
func (c Case) end(step Step, givenUp events.Ordinals) Step {
	op := c.Service.Operation
	if left := c.outdated(); !op.Kind.Together() && len(left) > 0 {
		message := fmt.Sprintf("%s to revision %d is through all its waves, and slots %s have kept what they had", op.Kind, op.Revision, left)
		if said := c.Detail(left[0]); said != "" {
			message += " (" + said + ")"
		}
		return c.pause(failed{left, message})
	}
	if done := c.kind().done; done != nil {
		step.Reason, step.Message = done(c)
	}
	step.Told = append(step.Told, c.ended(events.OperationDone, failed{slots: givenUp})...)
	return step
}

// Entered completes the event with its operation, its attempt and the end of the phase.
func (c Case) Entered(d events.OperationEntered) events.OperationEntered {
	op := c.Service.Operation
	d.Operation = op.Started
	if op.Rescale != nil {
		d.Attempt = max(d.Attempt, op.Attempt, 1)
	}
	if lasts := c.update().Lasts(d.Phase); lasts > 0 {
		d.Until = c.Now.Add(lasts)
	}
	return d
}

// update returns the spec's update rules with the defaults.
func (c Case) update() events.Update { return c.Service.Current().Spec.Updates() }

// nextPhase returns the next phase of the wave; "" after the last, and before the first wave.
func (c Case) nextPhase() events.OperationPhase {
	phases := c.kind().phases(c)
	if i := slices.Index(phases, c.Service.Operation.Phase); i >= 0 && i+1 < len(phases) {
		return phases[i+1]
	}
	return ""
}

// nextWave returns the slots that have waited longest. It leaves out slots that are bound to a node which takes no instances.
func (c Case) nextWave() events.Ordinals {
	op := c.Service.Operation
	if op.Kind.Together() {
		return slices.Clone(op.Waiting)
	}
	var slots events.Ordinals
	size := c.update().WaveSize(c.wavesSeen(), len(op.Waiting))
	for _, o := range op.Waiting {
		if len(slots) == size {
			break
		}
		if c.free(o) {
			slots = append(slots, o)
		}
	}
	return slots
}

// wavesSeen returns the number of waves so far. It is 0 while the nodes of all slots of the last wave are lost, so that the next wave is of
// canaries again, unless an operator has promoted them.
func (c Case) wavesSeen() uint32 {
	op := c.Service.Operation
	seen := func(o uint32) bool { return !c.Service.Excused(o) }
	if op.Promoted || slices.ContainsFunc(op.Slots, seen) {
		return op.Wave
	}
	return 0
}

// free reports whether a node can take the slot's next instance: any node, or the one that the slot is bound to.
func (c Case) free(ordinal uint32) bool {
	s := c.Service
	if !s.Wants(ordinal) || int(ordinal) >= len(s.Slots) || s.Slots[ordinal].Current == nil {
		return true
	}
	global := s.Current().Spec.Global()
	if global && c.Board.Could(s, ordinal) {
		return true
	}
	return (!global && s.Home(ordinal) == "") || c.Cluster.Nodes[s.Slots[ordinal].Current.Node].Ready()
}
