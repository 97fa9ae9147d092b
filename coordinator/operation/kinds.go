// Package operation defines the kinds of operations as a table: when an operation starts, the phases of its waves, what supersedes it, how many
// failures it tolerates, and what a failure leads to. Its functions decide from the state alone; a round carries out what they return.
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

// Case is a service at a time, and the placement board for questions about nodes.
type Case struct {
	Cluster *projections.Cluster
	Service *projections.Service
	Now     time.Time
	Board   *placement.Board
}

// kind is one row of the table: everything in which the operations of a kind differ from other operations.
type kind struct {
	of events.OperationKind
	// starts returns the event that starts the operation, or the event to record instead; nil where the service needs no such operation.
	starts func(Case) events.Data
	// phases returns the phases of the current wave, in order.
	phases func(Case) []events.OperationPhase
	// superseded reports whether the operation brings a state that the service no longer wants.
	superseded func(*projections.Service) bool
	// broken reports whether more slots have failed than the operation tolerates, and fail returns what that leads to.
	broken func(Case, barrier.Verdict) bool
	fail   func(Case, failed) Step
	// done returns why the command fails although the operation is through all phases; nil where it never does.
	done func(Case) (events.FailureReason, string)
	// title describes the operation and its progress to operators.
	title func(*projections.Operation) string
	// because tells operators why a slot gets another instance.
	because string
}

// kinds is in the order in which operations start where a service needs several. An interrupted change of a topology comes first, because no
// instance may serve what moved. A snapshot comes last, and a suspended service is not updated first.
var kinds = []kind{
	{events.OperationRescale, startRescale, rescalePhases, staleRescale, rescaleBroken, failRescale, nil, titleOfRescale, "its topology changes"},
	{events.OperationSuspend, startSuspend, suspendPhases, staleSuspension, anyBroken, failSuspend, suspended, titleOfKind, "it is suspended"},
	inWaves(events.OperationUpdate, "its spec changes"),
	inWaves(events.OperationRestart, "it is restarted"),
	inWaves(events.OperationRollback, "its spec goes back"),
	{events.OperationSnapshot, startSnapshot, snapshotPhases, staleSnapshot, anyBroken, failSnapshot, nil, titleOfKind, "a snapshot is taken"},
}

// Step is the next step of an operation: events about it, why its command fails, and the changes to the service after that.
type Step struct {
	Told []events.Data
	// Reason is why its command fails, "" where it does not, and Message explains it to operators.
	Reason  events.FailureReason
	Message string
	Then    []events.Data
}

// failed is the slots that failed, and the explanation for operators.
type failed struct {
	slots   events.Ordinals
	message string
}

// kind returns the row of the service's operation.
func (c Case) kind() kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.of == c.Service.Operation.Kind })]
}

// Start returns the event that starts the service's next operation, or the event to record instead; nil where it needs none.
func (c Case) Start() events.Data {
	if c.Service.Suspended() {
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

// Superseded reports whether the service has an operation that brings a state it no longer wants.
func (c Case) Superseded() bool {
	return c.Service.Operation != nil && c.kind().superseded(c.Service)
}

// Because tells operators why the operation gives a slot another instance.
func (c Case) Because() string { return c.kind().because }

// Broken reports whether more slots have failed than the operation tolerates.
func (c Case) Broken(v barrier.Verdict) bool { return c.kind().broken(c, v) }

// Fail returns what follows from too many failures.
func (c Case) Fail(v barrier.Verdict) Step {
	return c.kind().fail(c, failed{ordinalsOf(v.Broken), c.why(v.Broken)})
}

func (c Case) ended(outcome events.OperationOutcome, f failed) []events.Data {
	return []events.Data{events.OperationEnded{Operation: c.Service.Operation.Started, Outcome: outcome, GivenUp: f.slots, Message: f.message}}
}

func anyBroken(_ Case, v barrier.Verdict) bool { return len(v.Broken) > 0 }

func titleOfKind(op *projections.Operation) string { return string(op.Kind) }

// why explains a failure to operators: the first slot, and how many more failed.
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

// Detail explains to operators why a slot is not done: its instance of the revision does not serve, or no node has room; "" where neither is so.
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

// stateOf tells operators what keeps an instance from serving; "" where it serves.
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
