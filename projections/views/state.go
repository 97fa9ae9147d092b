package views

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// The states of a service, in Service.State. The first state that fits counts.
const (
	// StateShunned is the state of a service that the coordinator skips because of an internal error.
	StateShunned = "shunned"
	// StateDropping is the state of a service that is being deleted, as long as it has instances.
	StateDropping = "dropping"

	// The states of a job.
	StateScheduled = "scheduled" // it waits for the first run of its schedule
	StateCompleted = "completed" // every slot is done
	StateFailed    = "failed"    // more instances have failed than the backoff limit allows
	StateWorking   = "working"   // some slots are not done

	// The states of a service with an operation; the value's field operation has the details.
	StatePaused       = "paused"       // the operation is paused, because too many slots have failed
	StateUpdating     = "updating"     // the operation brings another spec
	StateRestarting   = "restarting"   // the operation replaces instances with others of the same spec
	StateRollingBack  = "rolling-back" // the operation returns to the spec of an earlier revision
	StateScaling      = "scaling"      // the operation changes the topology; without a topology, a scale command is open
	StateSnapshotting = "snapshotting" // the operation takes a snapshot
	StateSuspending   = "suspending"   // the operation takes a snapshot and then stops the instances

	// The states of any other service. A service that scales without a topology has no operation, and is StateScaling too.
	StateSuspended = "suspended" // it has no instance until it is resumed; also the status of its slots
	StateIdle      = "idle"      // its scale is 0 and it has no instance; for a global service, no node must run it
	StateRunning   = "running"   // every slot serves, and no other instance is left
	StatePending   = "pending"   // a slot has no instance, and no node can take one
	StateStopping  = "stopping"  // the service has more instances than slots
	StateStarting  = "starting"  // instances are missing, do not serve yet, or no longer serve
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
	case s.Suspended():
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

// scales reports whether the command that holds the service asks for a scale.
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

// operationState returns the state of a service with an operation.
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
