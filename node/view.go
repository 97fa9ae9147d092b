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
	// Order is the latest one; its Action is "" where there is none.
	Order events.Order
	// Container is what the engine has, nil where it has none.
	Container *Container
	// Initialized says that the init container of the next main one has ended well.
	Initialized bool
	// Health is what checks have told of the running container.
	Health Health
	// Ends are when attempts have ended, within the window of the restart policy.
	Ends []time.Time
	// Images are what names of images stood for when containers of the instance were made: the next is made from them.
	Images map[string]string
	// Told is the order whose topology the container's file holds; 0 where that is not known. Confirmed is how it answered what
	// it was last asked; nil where its process was not asked. Exports are what was kept of its volumes, where it was asked for that.
	Told      uint64
	Confirmed *events.Confirmation
	Exports   []events.Export
	// MadeReady is the container that was asked to make ready for its end, since there is an order to stop it; "" for none.
	MadeReady string
	// Attempt is that of the container, or of the last one where there is none.
	Attempt uint32
	// Failures counts the attempts in a row that failed. RetryAt is when the next one is due.
	Failures uint32
	RetryAt  time.Time
	// Phase, Reason, ExitCode and Message are what the node says of the instance.
	Phase    events.Phase
	Reason   events.OfflineReason
	ExitCode *int32
	Message  string
	// Output is the key under which the last lines of the container that failed are kept; "" where they are not.
	Output string
	// Changed is when the view last changed by a step: what was listed before tells nothing new. Served is since when
	// the instance serves.
	Changed time.Time
	Served  time.Time
	// Heard is when the node was last heard: the time at which it sent the last heartbeat that was answered. What is exclusive
	// goes by it, and it is known of that alone.
	Heard time.Time
	// Yielded says that it was to stop because its node was not heard, and that nobody knows whether it has.
	Yielded bool
	// Elsewhere is until when an exclusive instance that does not run here may run on another machine, which was the node of this name
	// before; zero for not at all.
	Elsewhere time.Time
}

// Step is the next thing to do for an instance.
type Step uint8

// The steps. Each but StepNone, StepWait and StepServe is one call of the Engine.
const (
	StepNone       Step = iota // nothing to do until something changes
	StepWait                   // nothing to do until a time
	StepPrepare                // have the image, create the container
	StepStart                  // start the container
	StepCheck                  // ask the running instance whether it is healthy
	StepServe                  // the running instance is ready to serve
	StepBeforeStop             // run the hook that comes before a stop
	StepStop                   // stop the container
	StepRemove                 // remove the container
)

// Next returns the next step; for StepWait with the time until which to wait.
func (v View) Next(now time.Time) (Step, time.Time) {
	switch v.Order.Action {
	case events.ActionRun:
		return v.bounded(now)
	case events.ActionStop:
		return v.nextStop(now)
	case events.ActionForget:
		if v.Container != nil && v.Phase == events.PhaseRemoved {
			return v.nextStop(now) // it turned up while an order to stop held, which nobody takes back
		}
	}
	return StepNone, time.Time{}
}

func (v View) nextRun(now time.Time) (Step, time.Time) {
	if v.Phase == events.PhaseCompleted {
		return StepNone, time.Time{} // its container stands until the leader knows
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
	case v.Container.runs() && v.mustMakeReady():
		return StepBeforeStop, time.Time{}
	case v.Container.runs():
		return StepStop, time.Time{}
	}
	return StepRemove, time.Time{}
}

// NextAttempt is the attempt that a container to be made belongs to: one that went offline was the last of its own.
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

// Ordered returns the view under a new order, which may come while a step for the one before is under way. The spec of
// an earlier order stays known, for the grace of a stop. What was stopped or has ended before it shall run is offline:
// the next attempt is due.
func (v View) Ordered(o events.Order) View {
	if o.Spec == nil {
		o.Spec = v.Order.Spec
	}
	if o.Window == 0 {
		o.Window = v.Order.Window // as long as it runs, whatever becomes of it
	}
	before := v.Order.Action
	if o.Action != before {
		v.Failures, v.RetryAt, v.Ends, v.MadeReady = 0, time.Time{}, nil, ""
	}
	v.Order = o
	if v.asked() == nil {
		v.Confirmed, v.Exports = nil, nil // a log that was restored may ask under the same number again
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

// stoppedBefore explains why an instance that shall run does not, where an order that holds no more had it stopped.
const stoppedBefore = "an earlier order had it stopped"

// Prepared returns the view after StepPrepare made the container.
func (v View) Prepared(c Container, now time.Time) View {
	v.Container, v.Attempt, v.Changed, v.Yielded = &c, c.Attempt, now, false
	v.Images = merged(v.Images, c.Images)
	v.Told, v.Confirmed = c.Told, nil
	return v.at(events.PhasePrepared)
}

// Done returns the view after a step that went well.
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
			return v // it turned up after that was told
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

// stopped follows a stop: an instance that shall run again by now is offline, one that was removed before stays so
// until the leader has forgotten it.
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

// gone follows a removal: of an instance that shall stop nothing is left, one that shall run tries again.
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

// Failed returns the view after a step that failed. An attempt to stop or remove is repeated after the back-off
// without a word: the instance is what it was. A hook that failed keeps nothing from being stopped. An attempt to bring up
// what shall run no more fails without a word, too, and nothing waits for it: the order that came meanwhile is due, and may
// have been what ended the step.
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

// Found returns the view after the engine said what it has of the instance. A look that began before the view last
// changed tells nothing.
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
		v.Yielded = v.Yielded && now.Sub(v.Changed) <= v.StopGrace()+afterKill // the stop that failed may have its effect yet
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

// reached has the view's attempt follow the container's, which may be from before the view. It never sinks: that of a
// container which a failed call left behind is over.
func (v View) reached() View {
	v.Attempt = max(v.Attempt, v.Container.Attempt)
	return v
}

// turnedUp follows the discovery of a container, mostly on adoption. Where the instance was told to be offline, the
// leader knows the attempt as over: a container that runs after all is a further one, as after a start that failed and
// had its effect; one that was only made is removed by the next step. What was stopped or removed stays so, unless it is
// forgotten: then the leader must hear of it to have it stopped, as of a container that a call made after its time.
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

// vanished follows the discovery that the container is gone although nobody here removed it.
func (v View) vanished(now time.Time) View {
	if v.Container == nil {
		return v
	}
	v.Container = nil
	if v.Order.Action != events.ActionRun || v.Phase >= events.PhaseOffline {
		return v
	}
	v = v.offline(events.OfflineUnknown, nil, "the container is gone, and not by Rookery's hand")
	return v.fail(now)
}

// exited follows the discovery that the process has ended. An attempt that was told to be over ends but once.
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

// ended tells how the main container has ended. One of a job that ended well is done.
func (v View) ended() View {
	code := v.Container.ExitCode
	if v.job() && code == 0 && !v.Container.OOMKilled && v.Container.Ended == "" {
		v = v.at(events.PhaseCompleted)
		v.ExitCode = &code
		return v
	}
	if v.Container.OOMKilled {
		return v.offline(events.OfflineOOMKilled, &code, "the kernel killed it for want of memory")
	}
	message := ""
	if v.Container.Ended != "" {
		message = "its sidecar " + v.Container.Ended + " has ended"
	}
	return v.offline(events.OfflineExited, &code, message)
}

// fail counts a failure of an instance that ran, and forgets those before it where it had served for long.
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

// State returns what the node says of the instance, in this node epoch.
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
