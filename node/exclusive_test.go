package node_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// TestAnExclusiveInstanceGoesByWhenItsNodeWasHeard asks for the next step of one with a window of 60s and a grace of 10s, so many
// seconds after its node was heard; before it ever was where that is negative.
func TestAnExclusiveInstanceGoesByWhenItsNodeWasHeard(t *testing.T) {
	heard := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	const never = -1
	for name, c := range map[string]struct {
		state   node.State
		has     bool
		seconds int
		step    node.Step
		until   int
	}{
		"nothing is made before the node was heard":    {seconds: never, step: node.StepNone},
		"what ran before that runs on":                 {has: true, state: node.Running, seconds: never, step: node.StepNone},
		"what was made before that does not start":     {has: true, state: node.Created, seconds: never, step: node.StepNone},
		"it is made once the node is heard":            {seconds: 0, step: node.StepPrepare},
		"it starts":                                    {has: true, state: node.Created, seconds: 1, step: node.StepStart},
		"it runs until it must yield":                  {has: true, state: node.Running, seconds: 1, step: node.StepWait, until: 49},
		"it stops in time for its grace":               {has: true, state: node.Running, seconds: 49, step: node.StepStop},
		"it does not start after that":                 {has: true, state: node.Created, seconds: 49, step: node.StepNone},
		"nor is it made":                               {seconds: 49, step: node.StepNone},
		"what has ended may be removed":                {has: true, state: node.Exited, seconds: 49, step: node.StepRemove},
		"it stops where the window is over long since": {has: true, state: node.Running, seconds: 1000, step: node.StepStop},
	} {
		spec := events.Spec{Image: "localhost/web:1", StopGrace: events.Duration(10 * time.Second)}
		v := node.View{Order: events.Order{Action: events.ActionRun, Spec: &spec, Window: events.Duration(time.Minute)}}
		now := heard
		if c.seconds != never {
			v.Heard, now = heard, heard.Add(time.Duration(c.seconds)*time.Second)
		}
		if c.has {
			v.Container = &node.Container{State: c.state}
			v.Phase = map[node.State]events.Phase{
				node.Created: events.PhasePrepared, node.Running: events.PhaseOnline, node.Exited: events.PhaseOffline,
			}[c.state]
		}
		step, until := v.Next(now)
		want := time.Time{}
		if c.until > 0 {
			want = heard.Add(time.Duration(c.until) * time.Second)
		}
		if step != c.step || !until.Equal(want) {
			t.Errorf("%s: step %d until %s, want %d until %s", name, step, until, c.step, want)
		}
	}
}

// TestAnExclusiveInstanceBeginsAnewWhenItsNodeIsHeardAgain ends an instance for want of an answered heartbeat. The end does not count
// as a failure, and the next attempt is due as soon as a heartbeat is answered.
func TestAnExclusiveInstanceBeginsAnewWhenItsNodeIsHeardAgain(t *testing.T) {
	heard := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	over := heard.Add(time.Minute)
	spec := events.Spec{Image: "localhost/web:1", StopGrace: events.Duration(10 * time.Second)}
	runs := node.View{
		Order: events.Order{Action: events.ActionRun, Spec: &spec, Window: events.Duration(time.Minute)}, Heard: heard,
		Container: &node.Container{State: node.Running}, Phase: events.PhaseOnline,
	}
	for name, ended := range map[string]node.View{
		"by the node":     runs.Done(node.StepStop, over),
		"by its watchdog": runs.Found(&node.Container{State: node.Exited, ExitCode: 137}, over, over),
	} {
		if ended.Phase != events.PhaseOffline || ended.Reason != events.OfflineDisconnected || ended.Failures != 0 {
			t.Errorf("%s: it is %s, %s, after %d failures", name, ended.Phase, ended.Reason, ended.Failures)
		}
		if step, _ := ended.Next(over); step != node.StepRemove {
			t.Errorf("%s: the next step is %d", name, step)
		}
		ended.Container = nil
		if step, _ := ended.Next(over); step != node.StepNone {
			t.Errorf("%s: without being heard the next step is %d", name, step)
		}
		ended.Heard = over
		if step, _ := ended.Next(over); step != node.StepPrepare || ended.NextAttempt() != 1 {
			t.Errorf("%s: once heard the next step is %d, attempt %d", name, step, ended.NextAttempt())
		}
	}
}

// TestAJobThatWasStoppedForWantOfAHeartbeatIsNotDone covers a stop that fails but takes effect. The leader answers a heartbeat again
// before the node sees the end.
func TestAJobThatWasStoppedForWantOfAHeartbeatIsNotDone(t *testing.T) {
	heard := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	over := heard.Add(time.Minute)
	spec := events.Spec{Image: "localhost/web:1", Mode: events.ModeJob, StopGrace: events.Duration(10 * time.Second)}
	v := node.View{
		Order: events.Order{Action: events.ActionRun, Spec: &spec, Window: events.Duration(time.Minute)}, Heard: heard,
		Container: &node.Container{State: node.Running}, Phase: events.PhaseOnline,
	}.Failed(node.StepStop, errors.New("no answer"), over)
	v.Heard = over
	after := over.Add(time.Second)
	if ended := v.Found(&node.Container{State: node.Exited}, after, after); ended.Phase != events.PhaseOffline || ended.Reason != events.OfflineDisconnected {
		t.Errorf("stopped by its node it is %s, %s", ended.Phase, ended.Reason)
	}
	sooner := v.Found(&node.Container{State: node.Running}, after, after)
	if ended := sooner.Found(&node.Container{State: node.Exited}, after.Add(time.Second), after.Add(time.Second)); ended.Phase != events.PhaseOffline {
		t.Errorf("seen to run within its grace, it is %s, %s", ended.Phase, ended.Reason)
	}
	later := after.Add(11 * time.Second)
	runs := v.Found(&node.Container{State: node.Running}, later, later)
	if ended := runs.Found(&node.Container{State: node.Exited}, later.Add(time.Second), later.Add(time.Second)); ended.Phase != events.PhaseCompleted {
		t.Errorf("seen to run after that, and ended by itself, it is %s, %s", ended.Phase, ended.Reason)
	}
}
