package node

import (
	"errors"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
)

// View is all that a node knows of one instance.
type View struct {
	Instance events.InstanceID
	// Order is the latest one; its Action is "" if there is no order.
	Order events.Order
	// Ordering is when the node first received an order of its action.
	Ordering time.Time
	// Container is the engine's container of the instance; nil for none.
	Container *Container
	// Initialized reports whether the init container for the next main container has succeeded.
	Initialized bool
	// Health is what health checks have shown about the running container.
	Health Health
	// Ends are the times at which attempts ended, within the window of the restart policy.
	Ends []time.Time
	// Images are the references that image names resolved to when the instance's containers were created. The next container uses them.
	Images map[string]string
	// Told is the order whose topology the container's file holds; 0 if unknown. Confirmed is its answer to what the node last asked;
	// nil if the node has not asked its process. Exports are what the node kept of its volumes, if an operation asked for that.
	Told      uint64
	Confirmed *events.Confirmation
	Exports   []events.Export
	// MadeReady is the container whose hook before the stop has run under the current order to stop; "" for none.
	MadeReady string
	// Attempt is the attempt of the container, or of the last container if there is none now.
	Attempt uint32
	// Failures counts the attempts in a row that failed. RetryAt is when the next attempt is due.
	Failures uint32
	RetryAt  time.Time
	// Phase, Reason, ExitCode and Message are what the node reports about the instance.
	Phase    events.Phase
	Reason   events.OfflineReason
	ExitCode *int32
	Message  string
	// Output is the key under which the bus keeps the last lines of the failed container; "" if it keeps none.
	Output string
	// Changed is when a step last changed the view: a listing that began before is out of date. Served is since when the instance
	// serves.
	Changed time.Time
	Served  time.Time
	// Heard is when the node sent its last answered heartbeat. An exclusive instance must stop when that is too long ago. The node keeps
	// it up to date only for exclusive instances.
	Heard time.Time
	// Yielded reports that the node tried to stop the instance for want of an answered heartbeat, and that the stop failed: the
	// instance may or may not have ended.
	Yielded bool
	// Elsewhere is until when an exclusive instance that does not run here may run on another machine, which was this node before; zero
	// if it cannot.
	Elsewhere time.Time
}

// Step is the next action for an instance.
type Step uint8

// The steps. Each is one call of the Engine, except StepNone, StepWait and StepServe.
const (
	StepNone       Step = iota // nothing to do until something changes
	StepWait                   // nothing to do until a time
	StepPrepare                // pull the image, create the container
	StepStart                  // start the container
	StepCheck                  // ask the running instance whether it is healthy
	StepServe                  // the running instance is ready to serve
	StepBeforeStop             // run the hook before a stop
	StepStop                   // stop the container
	StepRemove                 // remove the container
)

// Next returns the next step, and for StepWait the time until which to wait.
func (v View) Next(now time.Time) (Step, time.Time) {
	switch v.Order.Action {
	case events.ActionRun:
		return v.bounded(now)
	case events.ActionStop:
		return v.nextStop(now)
	case events.ActionForget:
		if v.Container != nil && v.Phase == events.PhaseRemoved {
			return v.nextStop(now) // it was found under an order to stop, which the leader never withdraws
		}
	}
	return StepNone, time.Time{}
}

func (v View) nextRun(now time.Time) (Step, time.Time) {
	if v.Phase == events.PhaseCompleted {
		return StepNone, time.Time{} // the container stays until the leader knows of its end
	}
	if v.Container != nil && v.Container.State == Running && v.Phase != events.PhaseOffline {
		return v.nextRunning(now)
	}
	if v.GivenUp() != "" && !v.Container.runs() {
		return StepNone, time.Time{}
	}
	if now.Before(v.RetryAt) {
		return StepWait, v.RetryAt
	}
	switch {
	case v.Container == nil:
		return StepPrepare, time.Time{}
	case v.Container.runs() && v.Container.Role == RoleMain:
		return StepStop, time.Time{} // it is unhealthy, or a part of it has ended
	case v.Container.State == Created && v.Phase != events.PhaseOffline:
		return StepStart, time.Time{}
	}
	return StepRemove, time.Time{}
}

func (v View) nextStop(now time.Time) (Step, time.Time) {
	switch {
	case v.Container == nil && v.Phase == events.PhaseRemoved:
		return StepNone, time.Time{}
	case now.Before(v.RetryAt):
		return StepWait, v.RetryAt
	case v.elsewhere(now):
		return StepWait, v.Elsewhere
	case now.Before(v.drained()):
		return StepWait, v.drained()
	case v.Container.runs() && v.mustMakeReady():
		return StepBeforeStop, time.Time{}
	case v.Container.runs():
		return StepStop, time.Time{}
	}
	return StepRemove, time.Time{}
}

// NextAttempt is the attempt of the next container to create. An instance that went offline has ended its attempt.
func (v View) NextAttempt() uint32 {
	if v.Phase == events.PhaseOffline {
		return v.Attempt + 1
	}
	return v.Attempt
}

// StopGrace is how long the instance has between the request to stop and the kill.
func (v View) StopGrace() time.Duration {
	if v.Order.Spec == nil {
		return time.Duration(events.DefaultStopGrace)
	}
	return time.Duration(v.Order.Spec.StopGrace)
}

// Ordered returns the view under an order that came now, perhaps while a step for the earlier one is under way. The view keeps the spec of
// an earlier order, for the grace of a stop. An instance that had stopped or ended before an order to run is offline: its next attempt
// is due.
func (v View) Ordered(o events.Order, now time.Time) View {
	if o.Spec == nil {
		o.Spec = v.Order.Spec
	}
	if o.Window == 0 {
		o.Window = v.Order.Window // the window holds as long as the instance runs, whatever the order
	}
	before := v.Order.Action
	if o.Action != before {
		v.Failures, v.RetryAt, v.Ends, v.MadeReady, v.Ordering = 0, time.Time{}, nil, "", now
	}
	v.Order = o
	if v.asked() == nil {
		v.Confirmed, v.Exports = nil, nil // after a restore, the log may use the number of this operation again
	}
	switch {
	case o.Action != events.ActionRun:
	case v.Phase < events.PhaseOffline && v.initFailed():
		return v.initEnded()
	case v.Phase < events.PhaseStopped:
	case before == "" && v.Container != nil:
		return v.ended()
	default:
		return v.offline(events.OfflineUnknown, nil, stoppedBefore)
	}
	return v
}

// stoppedBefore explains why an instance that must run is offline: the node stopped it under an order that no longer holds.
const stoppedBefore = "the node stopped it because of an earlier order"

// Prepared returns the view after StepPrepare made the container.
func (v View) Prepared(c Container, now time.Time) View {
	v.Container, v.Attempt, v.Changed, v.Yielded = &c, c.Attempt, now, false
	v.Images = merged(v.Images, c.Images)
	v.Told, v.Confirmed = c.Told, nil
	return v.at(events.PhasePrepared)
}

// Done returns the view after a step that succeeded.
func (v View) Done(step Step, now time.Time) View {
	v.Changed = now
	switch step {
	case StepStart:
		v = v.running()
		if v.Container.Role == RoleInit {
			return v
		}
		v.Health, v.Confirmed = Health{Since: now}, nil
		return v.at(events.PhaseStarted)
	case StepServe:
		v.Served = now
		return v.at(events.PhaseOnline)
	case StepBeforeStop:
		return v.madeReady()
	case StepStop:
		stopped := *v.Container
		stopped.State, stopped.Beside = Exited, false
		v.Container = &stopped
		switch {
		case v.Phase < events.PhaseOffline && (v.yields(now) || v.Yielded):
			return v.disconnected(nil)
		case v.Phase == events.PhaseRemoved:
			return v // its container was found after the node had reported it as removed
		}
		return v.stopped()
	case StepRemove:
		return v.gone(now)
	case StepNone, StepWait, StepPrepare, StepCheck:
	}
	return v
}

func (v View) running() View {
	running := *v.Container
	running.State = Running
	v.Container = &running
	return v
}

// stopped returns the view after a stop. An instance that must run again by now is offline. One that the node had reported as removed
// stays so until the leader has forgotten it.
func (v View) stopped() View {
	switch {
	case v.Order.Action == events.ActionRun && v.Phase == events.PhaseOffline:
		return v // it was unhealthy
	case v.Order.Action == events.ActionRun:
		return v.offline(events.OfflineUnknown, nil, stoppedBefore)
	case v.Phase == events.PhaseRemoved && v.Order.Action == events.ActionStop:
		return v
	}
	return v.at(events.PhaseStopped)
}

// gone returns the view after a removal. Under an order to stop, the instance is removed. Under an order to run, the next attempt is due.
func (v View) gone(now time.Time) View {
	v.Initialized = v.initDone() && v.Phase != events.PhaseOffline
	v.Container = nil
	if v.Order.Action == events.ActionStop {
		return v.at(events.PhaseRemoved)
	}
	if v.Phase == events.PhaseOffline && (v.Reason == events.OfflineOverDisk || v.Reason == events.OfflineUnhealthy) {
		v.RetryAt = now.Add(v.delay())
	}
	return v
}

// Failed returns the view after a step that failed. A failed stop or removal reports nothing, because the instance has not changed; the
// node repeats it after the back-off. A hook that failed does not delay the stop. A failed start reports nothing either if the instance
// must no longer run. There is no back-off then: the newer order is due at once, and may be what ended the step.
func (v View) Failed(step Step, err error, now time.Time) View {
	v.Changed = now
	if step == StepBeforeStop {
		return v.madeReady()
	}
	if (step == StepPrepare || step == StepStart) && v.Order.Action != events.ActionRun {
		return v
	}
	v.Failures++
	v.RetryAt = now.Add(v.stepDelay())
	v.Yielded = v.Yielded || (step == StepStop && v.Exclusive() && v.Phase < events.PhaseOffline)
	if step == StepStop || step == StepRemove {
		return v
	}
	reason, message := events.OfflineCreateFailed, err.Error()
	var failure *Failure
	if errors.As(err, &failure) {
		reason, message = failure.Reason, failure.Message
	}
	v.Attempt = v.NextAttempt()
	return v.offline(reason, nil, message)
}

// Found returns the view after the engine reported the instance's container, or nil for none. It ignores a report that the node asked
// for before the view last changed.
func (v View) Found(c *Container, looked, now time.Time) View {
	if looked.Before(v.Changed) {
		return v
	}
	if c == nil {
		return v.vanished(now)
	}
	before := v.Container
	v.Container = c
	v.Images = merged(v.Images, c.Images)
	if c.Role == RoleInit {
		return v.foundInit(before, now)
	}
	switch c.State {
	case Created:
		if before == nil {
			return v.turnedUp(events.PhasePrepared)
		}
	case Running:
		v.Yielded = v.Yielded && now.Sub(v.Changed) <= v.StopGrace()+afterKill // the failed stop may still take effect
		if before == nil || before.State != Running {
			v.Health, v.Confirmed = Health{Since: now}, nil
			return v.turnedUp(events.PhaseStarted)
		}
	case Exited:
		if before == nil || before.State != Exited {
			return v.exited(now)
		}
	}
	return v.reached()
}

// reached raises the view's attempt to the container's, which may be older than the view. The attempt never decreases: the attempt of a
// container that a failed call left behind is over.
func (v View) reached() View {
	v.Attempt = max(v.Attempt, v.Container.Attempt)
	return v
}

// turnedUp returns the view after the engine listed a container that the view did not have, mostly on adoption.
//
// If the node has reported the instance as offline, the leader counts the attempt as over. A container that runs nevertheless, as after
// a start that failed but had its effect, is then a further attempt. The next step removes one that was only created.
//
// An instance that was stopped or removed stays so, unless its order is to forget it. Then the node must report the container, for
// example one that a call created late, so that the leader stops it.
func (v View) turnedUp(phase events.Phase) View {
	before := v.Attempt
	v = v.reached()
	switch {
	case v.Phase >= events.PhaseCompleted && v.Order.Action != events.ActionForget:
		return v
	case v.Phase == events.PhaseOffline && phase == events.PhasePrepared:
		return v
	case v.Phase == events.PhaseOffline && v.Attempt == before:
		v.Attempt++
	}
	return v.at(phase)
}

// vanished returns the view after the engine no longer lists a container that the node did not remove.
func (v View) vanished(now time.Time) View {
	if v.Container == nil {
		return v
	}
	v.Container = nil
	if v.Order.Action != events.ActionRun || v.Phase >= events.PhaseOffline {
		return v
	}
	v = v.offline(events.OfflineUnknown, nil, "the container is gone, but Rookery did not remove it")
	return v.fail(now)
}

// exited returns the view after the engine reported that the process has ended. The node reports the end of an attempt only once.
func (v View) exited(now time.Time) View {
	before := v.Attempt
	v = v.reached()
	switch {
	case v.Order.Action != events.ActionRun:
		return v.stopped()
	case v.Phase == events.PhaseOffline && v.Attempt == before:
		return v
	case v.yields(now) || v.Yielded:
		return v.disconnected(&v.Container.ExitCode)
	}
	if v = v.ended(); v.Phase == events.PhaseCompleted {
		return v
	}
	return v.fail(now)
}

func (v View) job() bool { return v.Order.Spec != nil && v.Order.Spec.IsJob() }

// ended returns the view with how the main container ended. A job whose container succeeded is completed.
func (v View) ended() View {
	code := v.Container.ExitCode
	if v.job() && code == 0 && !v.Container.OOMKilled && v.Container.Ended == "" {
		v = v.at(events.PhaseCompleted)
		v.ExitCode = &code
		return v
	}
	if v.Container.OOMKilled {
		return v.offline(events.OfflineOOMKilled, &code, "the kernel killed it because it ran out of memory")
	}
	message := ""
	if v.Container.Ended != "" {
		message = "its sidecar " + v.Container.Ended + " has ended"
	}
	return v.offline(events.OfflineExited, &code, message)
}

// fail counts a failure of an instance that ran. It forgets the earlier failures if the instance had served for events.SteadyAfter.
func (v View) fail(now time.Time) View {
	if !v.Served.IsZero() && now.Sub(v.Served) >= events.SteadyAfter {
		v.Failures = 0
	}
	v.Served = time.Time{}
	v.Failures++
	v.RetryAt = now.Add(v.delay())
	return v.counted(now)
}

func (v View) at(phase events.Phase) View {
	v.Phase, v.Reason, v.ExitCode, v.Message, v.Output = phase, "", nil, "", ""
	return v
}

func (v View) offline(reason events.OfflineReason, code *int32, message string) View {
	v.Phase, v.Reason, v.ExitCode, v.Output = events.PhaseOffline, reason, code, ""
	v.Initialized, v.Yielded = false, false
	v.Message = strings.ToValidUTF8(message[:min(len(message), events.MaxMessage)], "")
	return v
}

// State returns what the node reports about the instance, in this node epoch.
func (v View) State(epoch uint64) events.InstanceState {
	s := events.InstanceState{
		Namespace: v.Instance.Service.Namespace, Name: v.Instance.Service.Name,
		Ordinal: v.Instance.Ordinal, Generation: v.Instance.Generation,
		Revision: v.Order.Revision,
		Position: events.Position{Epoch: epoch, Attempt: v.Attempt, Phase: v.Phase},
		Reason:   v.Reason, ExitCode: v.ExitCode, Message: v.Message, NoRestart: v.NoRestart(), Output: v.Output, Images: v.digests(),
		Confirmed: v.Confirmed,
	}
	if v.Confirmed != nil && v.Confirmed.Refused == "" && v.Confirmed.Phase == events.OperationExport {
		s.Exports = v.Exports
	}
	if v.Container != nil {
		s.Revision, s.Ports = v.Container.Revision, v.Container.Ports
	}
	return s
}
