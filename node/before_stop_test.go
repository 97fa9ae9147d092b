package node_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

func TestWhatIsAskedBeforeItIsStopped(t *testing.T) {
	hook := events.Hook{Exec: []string{"a"}}
	plan := func(role node.Role) node.Plan {
		spec := &events.Spec{StopGrace: events.Duration(time.Minute), TopologySpec: events.TopologySpec{Hooks: &events.Hooks{BeforeStop: &hook}}}
		return node.Plan{Order: events.Order{Action: events.ActionRun, Spec: spec}, Role: role}
	}
	if asked := plan(node.RoleInit).BeforeStop(); asked != nil {
		t.Errorf("an init container is asked %+v", asked)
	}
	run, stop := events.Order{Action: events.ActionRun}, events.Order{Action: events.ActionStop}
	in := func(state node.State, role node.Role) *node.Container {
		return &node.Container{Handle: "c", State: state, Role: role, BeforeStop: plan(node.RoleMain).BeforeStop()}
	}
	runs := node.View{}.Ordered(run).Found(in(node.Running, node.RoleMain), start, start).Done(node.StepServe, start)
	toStop, refused := runs.Ordered(stop), errors.New("no")
	limited := events.Order{Action: events.ActionRun, Spec: &events.Spec{Resources: events.Resources{Disk: 1}}}
	greedy := node.View{}.Ordered(limited).Found(in(node.Running, node.RoleMain), start, start)
	ended := in(node.Exited, node.RoleMain)
	ended.Beside = true
	for name, c := range map[string]struct {
		view node.View
		step node.Step
	}{
		"to run":                                 {runs, node.StepNone},
		"to run, and stopped by the node":        {greedy.Measured(*greedy.Container, node.Usage{Own: 2}, start), node.StepStop},
		"to stop":                                {toStop, node.StepBeforeStop},
		"to stop, by a process that is new":      {node.View{}.Found(in(node.Running, node.RoleMain), start, start).Ordered(stop), node.StepBeforeStop},
		"asked":                                  {toStop.Done(node.StepBeforeStop, start), node.StepStop},
		"asked in vain":                          {toStop.Failed(node.StepBeforeStop, refused, start), node.StepStop},
		"asked, and a stop has failed":           {toStop.Done(node.StepBeforeStop, start).Failed(node.StepStop, refused, start), node.StepWait},
		"asked, and ordered to stop again":       {toStop.Done(node.StepBeforeStop, start).Ordered(stop), node.StepStop},
		"asked, and ordered to run":              {toStop.Done(node.StepBeforeStop, start).Ordered(run), node.StepNone},
		"asked in vain, and ordered to run":      {toStop.Ordered(run).Failed(node.StepBeforeStop, refused, start), node.StepNone},
		"to stop once more, after it was to run": {toStop.Done(node.StepBeforeStop, start).Ordered(run).Ordered(stop), node.StepBeforeStop},
		"never started":                          {node.View{}.Found(in(node.Created, node.RoleMain), start, start).Ordered(stop), node.StepRemove},
		"an init container":                      {node.View{}.Found(in(node.Running, node.RoleInit), start, start).Ordered(stop), node.StepStop},
		"ended, and its sidecar runs":            {node.View{}.Found(ended, start, start).Ordered(stop), node.StepStop},
		"ended while it was asked":               {toStop.Done(node.StepBeforeStop, start).Found(in(node.Exited, node.RoleMain), after(1), after(1)), node.StepRemove},
	} {
		if step, _ := c.view.Next(after(1)); step != c.step {
			t.Errorf("%s: step %d, want %d", name, step, c.step)
		}
	}
	if within := toStop.AskWithin(); within != time.Minute {
		t.Errorf("it has %s for its answer, want %s", within, time.Minute)
	}
	if phase := toStop.Failed(node.StepBeforeStop, refused, start).Phase; phase != events.PhaseOnline {
		t.Errorf("what was asked in vain is %s", phase)
	}
}
