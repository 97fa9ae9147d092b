package views

import (
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// StatusCrashLooping is the status of a slot whose instances end again and again. The slot does not serve, and Rookery tries it again.
const StatusCrashLooping = "crash-looping"

// Conditions are the conditions of a slot's instance.
type Conditions struct {
	// Scheduled holds if the instance has a node and must run there.
	Scheduled Condition `json:"scheduled"`
	// Running holds if the node last reported that the instance's process runs.
	Running Condition `json:"running"`
}

// Condition says whether a condition holds, and has a reason code where it does not.
type Condition struct {
	Status bool   `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// The reasons why a condition does not hold, beside the reasons of offline and of retired instances.
const (
	ReasonNoNode         = "no-node"         // no node can take it, or the leader has not decided yet
	ReasonBackOff        = "back-off"        // its predecessor used up its restarts, and the wait before the next try is not over
	ReasonSuspended      = "suspended"       // its service is suspended
	ReasonNotScheduled   = "not-scheduled"   // it has no node
	ReasonCompleted      = "completed"       // it belongs to a job and has completed
	ReasonStopped        = "stopped"         // it had to stop, and has stopped
	ReasonLostConnection = "lost-connection" // its node was silent for too long
)

// Times are the times of the milestones of a slot's instance, by the time of the log.
type Times struct {
	// Created is when the slot began to lack the instance: its previous instance was retired, or the service was scaled up to the slot,
	// was resumed or began its run. Where the log does not say, it equals Scheduled. Scheduled is when the instance was placed on its node.
	Created   time.Time `json:"created,omitzero"`
	Scheduled time.Time `json:"scheduled,omitzero"`
	// Started is when the node first reported that the process runs, or has run. Restarted is when the node last reported that it runs
	// again after an end.
	Started   time.Time `json:"started,omitzero"`
	Restarted time.Time `json:"restarted,omitzero"`
}

// fillEnded sets the fields of a job's slot whose last instance has ended.
func (v *Instance) fillEnded(s *projections.Service, i *projections.Instance) {
	v.fill(s, i)
	v.Status, v.Reason, v.ExitCode, v.Message = "failed", i.Ended().Reason, i.Ended().ExitCode, i.Ended().Message
	switch {
	case i.Seen.Phase == events.PhaseCompleted:
		v.Status = "completed"
	case i.Retired() == events.RetireLost:
		v.Status, v.Message = "lost", lostConnection(i)
	}
}

func lostConnection(i *projections.Instance) string { return "lost connection to " + i.Node }

func (v *Instance) fill(s *projections.Service, i *projections.Instance) {
	v.Generation, v.Revision, v.Node, v.Address, v.Ports = i.ID.Generation, i.Revision, i.Node, i.Address, i.Ports
	v.Phase, v.Times = i.Seen.Phase.String(), timesOf(i)
	v.Reason, v.ExitCode, v.Message = i.Ended().Reason, i.Ended().ExitCode, i.Ended().Message
	if i.Output {
		v.Output = events.OutputKey(i.ID, i.Seen.Attempt)
	}
	switch {
	case i.Lost:
		v.Status, v.Reason, v.ExitCode, v.Message = "lost", "", nil, lostConnection(i)
	case i.Retired() != "":
		v.Status = "leaving"
	case i.Seen.Phase == events.PhaseOnline:
		v.Status = "online"
	case i.Seen.Phase == events.PhaseOffline:
		v.Status = "offline"
	default:
		v.Status, v.Reason = "offline", events.OfflineInitializing
	}
	v.Conditions = Conditions{Scheduled: Condition{Status: i.Retired() == "", Reason: string(i.Retired())}, Running: running(i)}
	if i.Retired() == "" && v.Status != "online" {
		v.loop(s, i.Revision)
	}
}

func timesOf(i *projections.Instance) Times {
	t := i.Times
	return Times{Created: t.Created.Time(), Scheduled: t.Scheduled.Time(), Started: t.Started.Time(), Restarted: t.Restarted.Time()}
}

// running returns the condition Running of the instance. An instance with a failing health check counts as running until its node has
// stopped it, which follows at once.
func running(i *projections.Instance) Condition {
	if i.Lost {
		return Condition{Reason: ReasonLostConnection}
	}
	switch i.Seen.Phase {
	case events.PhaseStarted, events.PhaseOnline:
		return Condition{Status: true}
	case events.PhaseOffline:
		return Condition{Reason: string(i.Ended().Reason)}
	case events.PhaseCompleted:
		return Condition{Reason: ReasonCompleted}
	case events.PhaseStopped, events.PhaseRemoved:
		return Condition{Reason: ReasonStopped}
	case events.PhasePlaced, events.PhasePrepared:
	}
	return Condition{Reason: string(events.OfflineInitializing)}
}

// loop sets the fields of a crash loop, if the slot's instances of the revision are in one.
func (v *Instance) loop(s *projections.Service, revision uint64) {
	if int(v.Ordinal) >= len(s.Slots) {
		return
	}
	c := s.Slots[v.Ordinal].Loop(revision)
	if c == nil {
		return
	}
	v.Status, v.Message = StatusCrashLooping, s.CrashLoop(v.Ordinal, revision)
	v.Crashes, v.Exits, v.Output = c.Row, c.Ends, c.Key(s.ID, v.Ordinal)
}

// ofSlot sets the fields that come from the slot and not from its newest instance: its restarts, and why it lacks an instance.
func (v *Instance) ofSlot(s *projections.Service) {
	if int(v.Ordinal) < len(s.Slots) {
		v.Restarts = s.Slots[v.Ordinal].Restarts
	}
	if v.Generation > 0 && v.Status != "leaving" {
		return
	}
	waits := s.Has(v.Ordinal) && !s.Dropped && !s.Suspended()
	if waits && !s.RetryAt(v.Ordinal).IsZero() && s.Pending == nil {
		v.loop(s, s.Target(v.Ordinal))
	}
	if v.Generation > 0 {
		return
	}
	v.Conditions = Conditions{Scheduled: Condition{Reason: ReasonNoNode}, Running: Condition{Reason: ReasonNotScheduled}}
	v.Times.Created = s.Lacking(v.Ordinal).Time()
	switch v.Status {
	case StatusCrashLooping:
		v.Conditions.Scheduled.Reason = ReasonBackOff
	case StateSuspended:
		v.Conditions.Scheduled.Reason = ReasonSuspended
	}
}
