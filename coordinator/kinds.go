package coordinator

import (
	"fmt"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/barrier"
)

// kind is what the operations of a kind have in common, and all in which they differ from those of others.
type kind struct {
	// phases returns those that each wave goes through, in order.
	phases func(*projections.Service) []events.OperationPhase
	// superseded reports whether the service's operation brings what the service is to be no longer.
	superseded func(*projections.Service) bool
	// broken reports whether more slots have failed than the operation goes on without, and fail says what follows from that.
	broken func(*projections.Service, barrier.Verdict) bool
	fail   func(failing) failure
	// title says for people what the operation does, and how far it is.
	title func(*projections.Operation) string
	// because says for people why a slot gets another instance.
	because string
}

var kinds = map[events.OperationKind]kind{
	events.OperationUpdate:   inWaves("its spec changes"),
	events.OperationRestart:  inWaves("it is restarted"),
	events.OperationRollback: inWaves("its spec goes back"),
	events.OperationRescale:  {rescalePhases, staleRescale, rescaleBroken, failRescale, titleOfRescale, "its topology changes"},
	events.OperationSnapshot: {snapshotPhases, staleSnapshot, anyBroken, failSnapshot, titleOfKind, "a snapshot is taken"},
	events.OperationSuspend:  {suspendPhases, staleSuspension, anyBroken, failSuspend, titleOfKind, "it is suspended"},
}

// inWaves is a kind that brings another revision, wave by wave.
func inWaves(because string) kind {
	return kind{wavePhases, staleRevision, tooManyBroken, failWave, titleOfWave, because}
}

// failing is an operation of which too much has failed.
type failing struct {
	cluster *projections.Cluster
	service *projections.Service
	now     time.Time
	verdict barrier.Verdict
	message string
}

// failure is what follows from that: how the operation ends, pauses or tries again, why its command fails with it ("" where it does not), and
// what the service is to be then.
type failure struct {
	told   events.Data
	reason events.FailureReason
	then   []events.Data
}

func (f failing) ended(outcome events.OperationOutcome) events.OperationEnded {
	return events.OperationEnded{
		Operation: f.service.Operation.Started, Outcome: outcome, GivenUp: ordinalsOf(f.verdict.Broken), Message: f.message,
	}
}

// superseded reports whether the service's operation brings what the service is to be no longer.
func superseded(s *projections.Service) bool { return kinds[s.Operation.Kind].superseded(s) }

// phasesOf returns the phases that each wave of the service's operation goes through, in order.
func phasesOf(s *projections.Service) []events.OperationPhase {
	return kinds[s.Operation.Kind].phases(s)
}

// fail does what follows from an operation of which too much has failed, and ends the command with it.
func (t *Turn) fail(s *projections.Service, v barrier.Verdict) {
	message := t.why(s, v.Broken)
	f := kinds[s.Operation.Kind].fail(failing{t.Cluster, s, t.Now, v, message})
	t.emit(events.ServiceScope(s.ID), f.told)
	if f.reason != "" {
		t.failCommand(s, f.reason, message)
	}
	t.emit(events.ServiceScope(s.ID), f.then...)
}

func anyBroken(_ *projections.Service, v barrier.Verdict) bool { return len(v.Broken) > 0 }

func titleOfKind(op *projections.Operation) string { return string(op.Kind) }

func titleOfWave(op *projections.Operation) string {
	return fmt.Sprintf("%s to revision %d, wave %d", op.Kind, op.Revision, op.Wave)
}

func titleOfRescale(op *projections.Operation) string {
	return fmt.Sprintf("%s from %d to %d, attempt %d", op.Kind, op.Rescale.From, op.Rescale.To, op.Attempt)
}
