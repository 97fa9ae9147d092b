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
	// Changed is when the view last changed by a step: what was listed before tells nothing new. Served is since when
	// the instance serves.
	Changed time.Time
	Served  time.Time
}

// Step is the next thing to do for an instance.
type Step uint8

// The steps. Each but StepNone, StepWait and StepServe is one call of the Engine.
const (
	StepNone    Step = iota // nothing to do until something changes
	StepWait                // nothing to do until a time
	StepPrepare             // have the image, create the container
	StepStart               // start the container
	StepServe               // the running instance is ready to serve
	StepStop                // stop the container
	StepRemove              // remove the container
)

// Next returns the next step; for StepWait with the time until which to wait.
func (v View) Next(now time.Time) (Step, time.Time) {
	switch v.Order.Action {
	case events.ActionRun:
		return v.nextRun(now)
	case events.ActionStop:
		return v.nextStop(now)
	case events.ActionForget:
	}
	return StepNone, time.Time{}
}

func (v View) nextRun(now time.Time) (Step, time.Time) {
	if v.Container != nil && v.Container.State == Running {
		if v.Phase == events.PhaseOnline {
			return StepNone, time.Time{}
		}
		return StepServe, time.Time{}
	}
	if now.Before(v.RetryAt) {
		return StepWait, v.RetryAt
	}
	switch {
	case v.Container == nil:
		return StepPrepare, time.Time{}
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
	case v.Container != nil && v.Container.State == Running:
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

// Ordered returns the view under a new order. The spec of an earlier order stays known, for the grace of a stop.
func (v View) Ordered(o events.Order) View {
	if o.Spec == nil {
		o.Spec = v.Order.Spec
	}
	if o.Action != v.Order.Action {
		v.Failures, v.RetryAt = 0, time.Time{}
	}
	v.Order = o
	return v
}

// Prepared returns the view after StepPrepare made the container.
func (v View) Prepared(c Container, now time.Time) View {
	v.Container, v.Attempt, v.Changed = &c, c.Attempt, now
	return v.at(events.PhasePrepared)
}

// Done returns the view after a step that went well.
func (v View) Done(step Step, now time.Time) View {
	v.Changed = now
	switch step {
	case StepStart:
		return v.running().at(events.PhaseStarted)
	case StepServe:
		v.Served = now
		return v.at(events.PhaseOnline)
	case StepStop:
		stopped := *v.Container
		stopped.State = Exited
		v.Container = &stopped
		return v.at(events.PhaseStopped)
	case StepRemove:
		return v.gone()
	case StepNone, StepWait, StepPrepare:
	}
	return v
}

func (v View) running() View {
	running := *v.Container
	running.State = Running
	v.Container = &running
	return v
}

// gone follows a removal: of an instance that shall stop nothing is left, one that shall run tries again.
func (v View) gone() View {
	v.Container = nil
	if v.Order.Action == events.ActionStop {
		return v.at(events.PhaseRemoved)
	}
	return v
}

// Failed returns the view after a step that failed. An attempt to stop or remove is repeated after the back-off
// without a word: the instance is what it was.
func (v View) Failed(step Step, err error, now time.Time) View {
	v.Changed = now
	v.Failures++
	v.RetryAt = now.Add(backoff(v.Failures))
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
	v.Container, v.Attempt = c, c.Attempt
	switch c.State {
	case Created:
		if before == nil {
			return v.at(events.PhasePrepared)
		}
	case Running:
		if before == nil || before.State != Running {
			return v.at(events.PhaseStarted)
		}
	case Exited:
		if before == nil || before.State != Exited {
			return v.exited(c.ExitCode, now)
		}
	}
	return v
}

// vanished follows the discovery that the container is gone although nobody here removed it.
func (v View) vanished(now time.Time) View {
	if v.Container == nil {
		return v
	}
	v.Container = nil
	if v.Order.Action != events.ActionRun {
		return v
	}
	v = v.offline(events.OfflineUnknown, nil, "the container is gone, and not by Rookery's hand")
	return v.fail(now)
}

func (v View) exited(code int32, now time.Time) View {
	if v.Order.Action != events.ActionRun {
		return v.at(events.PhaseStopped)
	}
	v = v.offline(events.OfflineExited, &code, "")
	return v.fail(now)
}

// fail counts a failure of an instance that ran, and forgets those before it where it had served for long.
func (v View) fail(now time.Time) View {
	if !v.Served.IsZero() && now.Sub(v.Served) >= steadyAfter {
		v.Failures = 0
	}
	v.Served = time.Time{}
	v.Failures++
	v.RetryAt = now.Add(backoff(v.Failures))
	return v
}

func (v View) at(phase events.Phase) View {
	v.Phase, v.Reason, v.ExitCode, v.Message = phase, "", nil, ""
	return v
}

func (v View) offline(reason events.OfflineReason, code *int32, message string) View {
	v.Phase, v.Reason, v.ExitCode = events.PhaseOffline, reason, code
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
		Reason:   v.Reason, ExitCode: v.ExitCode, Message: v.Message,
	}
	if v.Container != nil {
		s.Revision, s.Ports = v.Container.Revision, v.Container.Ports
	}
	return s
}
