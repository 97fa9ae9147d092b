package node_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// TestAnInstanceOfAJob holds what has ended well to be completed and to stay so, whatever is seen of it later.
func TestAnInstanceOfAJob(t *testing.T) {
	run := events.Order{Action: events.ActionRun, Spec: &events.Spec{
		Mode: events.ModeJob, RestartSpec: events.RestartSpec{Restart: &events.Restart{Policy: events.RestartNever}},
	}}
	stop := events.Order{Action: events.ActionStop}
	ended := func(code int32) *node.Container {
		return &node.Container{Handle: "c", State: node.Exited, ExitCode: code}
	}
	started := node.View{}.Ordered(run, start).Prepared(*container(node.Created, 0), start).Done(node.StepStart, start)
	done := started.Found(ended(0), after(1), after(1))
	beside := ended(0)
	beside.Beside = true
	killed, torn := ended(0), ended(0)
	killed.OOMKilled, torn.Ended = true, "proxy"
	later := after(time.Hour)
	for name, c := range map[string]struct {
		view  node.View
		step  node.Step
		phase events.Phase
	}{
		"serves":                        {started, node.StepServe, events.PhaseStarted},
		"ended well":                    {done, node.StepNone, events.PhaseCompleted},
		"ended well once online":        {started.Done(node.StepServe, start).Found(ended(0), after(1), after(1)), node.StepNone, events.PhaseCompleted},
		"ended well, its sidecar runs":  {started.Found(beside, after(1), after(1)), node.StepNone, events.PhaseCompleted},
		"ended well, and is gone":       {done.Found(nil, after(2), after(2)), node.StepNone, events.PhaseCompleted},
		"ended well, and runs":          {done.Found(container(node.Running, 0), after(2), after(2)), node.StepNone, events.PhaseCompleted},
		"ended well, ordered again":     {done.Ordered(run, start), node.StepNone, events.PhaseCompleted},
		"ended well, to stop":           {done.Ordered(stop, start), node.StepRemove, events.PhaseCompleted},
		"ended well, to stop, stopped":  {started.Found(beside, after(1), after(1)).Ordered(stop, start), node.StepStop, events.PhaseCompleted},
		"ended well, removed":           {done.Ordered(stop, start).Done(node.StepRemove, after(2)), node.StepNone, events.PhaseRemoved},
		"ended well before adoption":    {node.View{}.Found(ended(0), start, start).Ordered(run, start), node.StepNone, events.PhaseCompleted},
		"ended well, and was to stop":   {started.Ordered(stop, start).Found(ended(0), after(1), after(1)), node.StepRemove, events.PhaseStopped},
		"ended badly":                   {started.Found(ended(1), after(1), after(1)), node.StepNone, events.PhaseOffline},
		"ended badly before adoption":   {node.View{}.Found(ended(1), start, start).Ordered(run, start), node.StepNone, events.PhaseOffline},
		"killed for want of memory":     {started.Found(killed, after(1), after(1)), node.StepNone, events.PhaseOffline},
		"its sidecar ended before":      {started.Found(torn, after(1), after(1)), node.StepNone, events.PhaseOffline},
		"could not be made, and waits":  {node.View{}.Ordered(run, start).Failed(node.StepPrepare, errors.New("no"), later), node.StepWait, events.PhaseOffline},
		"of a service, ended well":      {serving().Found(ended(0), after(1), after(1)), node.StepRemove, events.PhaseOffline},
		"of a service, found like that": {node.View{}.Found(ended(0), start, start).Ordered(events.Order{Action: events.ActionRun}, start), node.StepRemove, events.PhaseOffline},
	} {
		t.Run(name, func(t *testing.T) {
			step, _ := c.view.Next(later)
			s := c.view.State(1)
			if step != c.step || s.Phase != c.phase {
				t.Errorf("step %d, %s; want step %d, %s", step, s.Phase, c.step, c.phase)
			}
			if s.Phase == events.PhaseCompleted && (s.ExitCode == nil || *s.ExitCode != 0 || s.Reason != "" || s.Message != "") {
				t.Errorf("completed with %v: %q %q", s.ExitCode, s.Reason, s.Message)
			}
		})
	}
}
