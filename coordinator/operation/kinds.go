// Package operation says what becomes of a service by operations: when one of which kind begins, the phases that its waves go through, what ends
// it early, what it bears, and what follows from a failure. All of it is decided from the state alone; a round carries it out.
package operation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/coordinator/placement"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/barrier"
)

// Case is a service that is decided on at a time.
type Case struct {
	Cluster *projections.Cluster
	Service *projections.Service
	Now     time.Time
	Board   *placement.Board
}

// kind is what the operations of a kind have in common, and all in which they differ from those of others.
type kind struct {
	of events.OperationKind
	// starts returns the beginning of one where the service is to have it, or what is to be said in its place; nil for nothing.
	starts func(Case) events.Data
	// phases returns those that the present wave goes through, in order.
	phases func(Case) []events.OperationPhase
	// superseded reports whether the operation brings what the service is to be no longer.
	superseded func(*projections.Service) bool
	// broken reports whether more slots have failed than the operation goes on without, and fail says what follows from that.
	broken func(Case, barrier.Verdict) bool
	fail   func(Case, failed) Step
	// done says with what its command fails although it is through; nil where it never does.
	done func(Case) (events.FailureReason, string)
	// title says for people what the operation does, and how far it is.
	title func(*projections.Operation) string
	// because says for people why a slot gets another instance.
	because string
}

// kinds stand in the order in which they begin, where the service is to have several. A topology that was left in the middle of a change comes
// first, as nobody may serve what moved, and a snapshot last. What shall rest is of no other revision before.
var kinds = []kind{
	{events.OperationRescale, startRescale, rescalePhases, staleRescale, rescaleBroken, failRescale, nil, titleOfRescale, "its topology changes"},
	{events.OperationSuspend, startSuspend, suspendPhases, staleSuspension, anyBroken, failSuspend, suspended, titleOfKind, "it is suspended"},
	inWaves(events.OperationUpdate, "its spec changes"),
	inWaves(events.OperationRestart, "it is restarted"),
	inWaves(events.OperationRollback, "its spec goes back"),
	{events.OperationSnapshot, startSnapshot, snapshotPhases, staleSnapshot, anyBroken, failSnapshot, nil, titleOfKind, "a snapshot is taken"},
}

// Step is what follows for an operation: what is said of it, what its command fails with, and what the service is to be then.
type Step struct {
	Told []events.Data
	// Reason is why its command fails, and Message says so for people; "" where it does not.
	Reason  events.FailureReason
	Message string
	Then    []events.Data
}

// failed is what of an operation has failed, and a word on it for people.
type failed struct {
	slots   events.Ordinals
	message string
}

// kind returns that of the service's operation.
func (c Case) kind() kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.of == c.Service.Operation.Kind })]
}

// Start returns the beginning of the next operation, or what is said in its place; nil for nothing.
func (c Case) Start() events.Data {
	if c.Service.Resting() {
		return nil
	}
	for _, k := range kinds {
		switch d := k.starts(c).(type) {
		case nil:
		case events.OperationStarted:
			d.Operation, d.Revision = k.of, c.Service.Revision
			return d
		default:
			return d
		}
	}
	return nil
}

// Superseded reports whether the service has an operation that brings what it is to be no longer.
func (c Case) Superseded() bool {
	return c.Service.Operation != nil && c.kind().superseded(c.Service)
}

// Because says for people why a slot gets another instance by the operation.
func (c Case) Because() string { return c.kind().because }

// Broken reports whether more slots have failed than the operation goes on without.
func (c Case) Broken(v barrier.Verdict) bool { return c.kind().broken(c, v) }

// Fail returns what follows where it does not go on.
func (c Case) Fail(v barrier.Verdict) Step {
	return c.kind().fail(c, failed{ordinalsOf(v.Broken), c.why(v.Broken)})
}

func (c Case) ended(outcome events.OperationOutcome, f failed) []events.Data {
	return []events.Data{events.OperationEnded{Operation: c.Service.Operation.Started, Outcome: outcome, GivenUp: f.slots, Message: f.message}}
}

func anyBroken(_ Case, v barrier.Verdict) bool { return len(v.Broken) > 0 }

func titleOfKind(op *projections.Operation) string { return string(op.Kind) }

// why says for people what failed: of the slots the first one, and how many more.
func (c Case) why(broken []barrier.Participant) string {
	op, first := c.Service.Operation, broken[0]
	text := fmt.Sprintf("%s, phase %s: slot %d: %s", c.kind().title(op), op.Phase, first.Ordinal, first.Broken)
	if said := c.Detail(first.Ordinal); said != "" {
		text += " (" + said + ")"
	}
	if more := len(broken) - 1; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// Detail says for people what is known of why the slot is not done: its instance of the revision is offline, or no node can
// have one; "" for nothing.
func (c Case) Detail(ordinal uint32) string {
	s, slot := c.Service, &projections.Slot{}
	if int(ordinal) < len(s.Slots) {
		slot = s.Slots[ordinal]
	}
	for _, i := range [...]*projections.Instance{slot.Next, slot.Current} {
		if i != nil && s.UpToDate(i) {
			return stateOf(s, i)
		}
	}
	return c.Board.Lacks(s, ordinal)
}

// stateOf says for people what keeps an instance from serving; "" where it serves.
func stateOf(s *projections.Service, i *projections.Instance) string {
	loop := s.CrashLoop(i.ID.Ordinal, i.Revision)
	switch {
	case loop != "" && i.Seen.Phase != events.PhaseOnline:
		return fmt.Sprintf("%s is in a %s", i.ID, loop)
	case i.Seen.Phase == events.PhaseOffline:
		return strings.TrimSpace(fmt.Sprintf("%s is offline: %s %s", i.ID, i.Ended().Reason, i.Ended().Message))
	case i.Lost:
		return fmt.Sprintf("%s is lost with %s", i.ID, i.Node)
	case i.Seen.Phase == events.PhaseOnline:
		return ""
	}
	return fmt.Sprintf("%s is %s", i.ID, i.Seen.Phase)
}

func ordinalsOf(participants []barrier.Participant) events.Ordinals {
	var ordinals events.Ordinals
	for _, p := range participants {
		ordinals = append(ordinals, p.Ordinal)
	}
	return ordinals
}
