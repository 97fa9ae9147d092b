package views

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// The states of a service: what Service.State says. The first that fits counts.
const (
	// StateShunned is that of a service which the coordinator leaves alone, because of a defect of its own.
	StateShunned = "shunned"
	// StateDropping is that of a service that shall exist no more, as long as it has instances.
	StateDropping = "dropping"

	// The states of a job.
	StateScheduled = "scheduled" // it waits for the first run of its schedule
	StateCompleted = "completed" // every slot is done
	StateFailed    = "failed"    // more instances have failed than may
	StateWorking   = "working"   // slots are to be done yet

	// The states of a service that goes through an operation, which the value's operation tells of.
	StatePaused       = "paused"       // it stands still, because too much of it has failed
	StateUpdating     = "updating"     // it brings another spec
	StateRestarting   = "restarting"   // it replaces instances by others of the same spec
	StateRollingBack  = "rolling-back" // it brings the spec of an earlier revision back
	StateScaling      = "scaling"      // it brings another topology; without a topology, a scale is being carried out
	StateSnapshotting = "snapshotting" // it keeps what instances hold
	StateSuspending   = "suspending"   // it keeps what instances hold, and then these go

	// The states of any other service. One that scales without a topology has no operation, and is StateScaling all the same.
	StateSuspended = "suspended" // it has no instance until it is resumed; the status of its slots, too
	StateIdle      = "idle"      // its scale is 0, and nothing of it is left; of a global one that no node is to have one
	StateRunning   = "running"   // every slot serves, and nothing else is left
	StatePending   = "pending"   // a slot has no instance, and no node could have it
	StateStopping  = "stopping"  // there are more instances than slots
	StateStarting  = "starting"  // instances are to come, or do not serve yet, or do not any more
)

func serviceState(c *projections.Cluster, s *projections.Service) string {
	switch {
	case c.Shuns(events.Unit{Work: events.WorkReconcile, Scope: events.ServiceScope(s.ID)}):
		return StateShunned
	case s.Dropped:
		return StateDropping
	case s.Job != nil:
		return jobState(s)
	case s.Operation != nil:
		return operationState(s.Operation)
	case s.Resting():
		return StateSuspended
	case s.Settled() && s.Scale == 0:
		return StateIdle
	case s.Settled():
		return StateRunning
	case s.Lacks() && s.Pending != nil:
		return StatePending
	case s.Rescales() || scales(c, s):
		return StateScaling
	case s.Total() > int(s.Scale):
		return StateStopping
	}
	return StateStarting
}

// scales reports whether the command that the service works for asks for a scale.
func scales(c *projections.Cluster, s *projections.Service) bool {
	return s.Holder != 0 && c.Commands[s.Holder].Verb == events.ServiceScale{}.Kind().Name
}

func jobState(s *projections.Service) string {
	switch {
	case s.Idle():
		return StateScheduled
	case s.Done():
		return StateCompleted
	case s.GivenUp():
		return StateFailed
	}
	return StateWorking
}

// operationState is the state of a service with an operation.
func operationState(op *projections.Operation) string {
	if op.Paused != "" {
		return StatePaused
	}
	switch op.Kind {
	case events.OperationRestart:
		return StateRestarting
	case events.OperationRollback:
		return StateRollingBack
	case events.OperationRescale:
		return StateScaling
	case events.OperationSnapshot:
		return StateSnapshotting
	case events.OperationSuspend:
		return StateSuspending
	case events.OperationUpdate:
	}
	return StateUpdating
}
