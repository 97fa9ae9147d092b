package views

import (
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// StatusCrashLooping is the status of a slot whose instances end again and again: it does not serve, and is tried again.
const StatusCrashLooping = "crash-looping"

// Conditions are what holds of a slot's instance.
type Conditions struct {
	// Scheduled: it has a node, and is to be there.
	Scheduled Condition `json:"scheduled"`
	// Running: its process was last seen to run.
	Running Condition `json:"running"`
}

// Condition is whether something holds, and a word for why it does not.
type Condition struct {
	Status bool   `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// The reasons of a condition that does not hold, beside those of an instance that is offline or retired.
const (
	ReasonNoNode         = "no-node"         // no node can have it, or none is decided yet
	ReasonBackOff        = "back-off"        // the one before used up its restarts on its node, and the time until the next is not over
	ReasonSuspended      = "suspended"       // its service is suspended
	ReasonNotScheduled   = "not-scheduled"   // it has no node
	ReasonCompleted      = "completed"       // it is of a job, and has ended well
	ReasonStopped        = "stopped"         // it was to stop, and did
	ReasonLostConnection = "lost-connection" // its node was silent for too long
)

// Times are when things happened to a slot's instance, by the time of the log.
type Times struct {
	// Created is when the slot came to lack it: when the one before was retired, or else when the service was scaled to have the
	// slot, was resumed or had its run; where the log does not say, when it was scheduled. Scheduled is when it got its node.
	Created   time.Time `json:"created,omitzero"`
	Scheduled time.Time `json:"scheduled,omitzero"`
	// Started is when its process was first seen to run, or to have run, and Restarted when it was last seen to run again after
	// an end.
	Started   time.Time `json:"started,omitzero"`
	Restarted time.Time `json:"restarted,omitzero"`
}

// fillEnded shows how the last instance of a job's slot ended.
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

// running says whether the instance runs. One whose health check fails does until its node has stopped it, which follows at once.
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

// loop shows the crash loop that the slot's instances of the revision are in, if any.
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

// ofSlot shows what the slot knows beside its newest instance: how often it began again, and why it lacks one.
func (v *Instance) ofSlot(s *projections.Service) {
	if int(v.Ordinal) < len(s.Slots) {
		v.Restarts = s.Slots[v.Ordinal].Restarts
	}
	if v.Generation > 0 && v.Status != "leaving" {
		return
	}
	waits := s.Has(v.Ordinal) && !s.Dropped && !s.Resting()
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
