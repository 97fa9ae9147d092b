package runner

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// alarm is an action that is due at a time. The loop handles alarms that are due together in this order, so that a simulated run can be
// repeated. No alarm is set for an action that is under way: the action sets its next one at its end.
type alarm int

const (
	alarmBeat    alarm = iota // send the next heartbeat
	alarmLook                 // list the engine's containers
	alarmWatch                // watch the engine's hints again
	alarmPublish              // publish again after a failure
	alarmPrune                // remove unused images
	alarmStep                 // take the earliest delayed step of an instance; instances go in order
	alarms
)

// arm sets the timer to the earliest alarm.
func (a *Agent) arm(timer *time.Timer) {
	var first time.Time
	for _, due := range a.alarms {
		if !due.IsZero() && (first.IsZero() || due.Before(first)) {
			first = due
		}
	}
	if first.IsZero() {
		timer.Stop()
		return
	}
	timer.Reset(time.Until(first))
}

// ring handles all alarms that are due.
func (a *Agent) ring(ctx context.Context) {
	now := time.Now()
	for i := range alarms {
		if due := a.alarms[i]; due.IsZero() || now.Before(due) {
			continue
		}
		a.alarms[i] = time.Time{}
		switch i {
		case alarmBeat:
			a.beat(ctx)
		case alarmLook:
			a.look(ctx)
		case alarmWatch:
			a.watch(ctx)
		case alarmPublish: // the loop publishes whatever waits
		case alarmPrune:
			a.prune(ctx)
		case alarmStep:
			a.stepsDue(ctx, now)
		case alarms:
		}
	}
}

// await schedules the instance's next step.
func (a *Agent) await(in *instance, until time.Time) {
	a.waiting[in.view.Instance] = until
	if due := a.alarms[alarmStep]; due.IsZero() || until.Before(due) {
		a.alarms[alarmStep] = until
	}
}

// stepsDue takes the delayed steps that are due. Instances that still wait set the alarm again.
func (a *Agent) stepsDue(ctx context.Context, now time.Time) {
	for _, id := range slices.SortedFunc(maps.Keys(a.waiting), events.InstanceID.Compare) {
		in, until := a.instances[id], a.waiting[id]
		if now.Before(until) {
			a.await(in, until)
			continue
		}
		a.settle(ctx, in)
	}
}
