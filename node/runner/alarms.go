package runner

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// alarm is something that is due at a time. What is due at once is handled in this order, so that the same happens
// every time. None is set for what is under way: it sets its own at its end.
type alarm int

const (
	alarmBeat    alarm = iota // the next heartbeat
	alarmLook                 // the next look at the engine
	alarmWatch                // hints of the engine are to be had again
	alarmPublish              // the rest after a failure to publish is over
	alarmPrune                // images that nobody uses are looked for
	alarmStep                 // the earliest step of an instance that waits for its time; instances go in order
	alarms
)

// arm sets the timer to what is due first.
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

// ring handles all that is due.
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

// await has the instance's next step taken at a time.
func (a *Agent) await(in *instance, until time.Time) {
	a.waiting[in.view.Instance] = until
	if due := a.alarms[alarmStep]; due.IsZero() || until.Before(due) {
		a.alarms[alarmStep] = until
	}
}

// stepsDue goes on with the instances whose time has come. Those that still wait set the alarm again.
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
