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
	runs := node.View{}.Ordered(run, start).Found(in(node.Running, node.RoleMain), start, start).Done(node.StepServe, start)
	toStop, refused := runs.Ordered(stop, start), errors.New("no")
	limited := events.Order{Action: events.ActionRun, Spec: &events.Spec{Resources: events.Resources{Disk: 1}}}
	greedy := node.View{}.Ordered(limited, start).Found(in(node.Running, node.RoleMain), start, start)
	ended := in(node.Exited, node.RoleMain)
	ended.Beside = true
	for name, c := range map[string]struct {
		view node.View
		step node.Step
	}{
		"to run":                                 {runs, node.StepNone},
		"to run, and stopped by the node":        {greedy.Measured(*greedy.Container, node.Usage{Own: 2}, start), node.StepStop},
		"to stop":                                {toStop, node.StepBeforeStop},
		"to stop, by a process that is new":      {node.View{}.Found(in(node.Running, node.RoleMain), start, start).Ordered(stop, start), node.StepBeforeStop},
		"asked":                                  {toStop.Done(node.StepBeforeStop, start), node.StepStop},
		"asked in vain":                          {toStop.Failed(node.StepBeforeStop, refused, start), node.StepStop},
		"asked, and a stop has failed":           {toStop.Done(node.StepBeforeStop, start).Failed(node.StepStop, refused, start), node.StepWait},
		"asked, and ordered to stop again":       {toStop.Done(node.StepBeforeStop, start).Ordered(stop, start), node.StepStop},
		"asked, and ordered to run":              {toStop.Done(node.StepBeforeStop, start).Ordered(run, start), node.StepNone},
		"asked in vain, and ordered to run":      {toStop.Ordered(run, start).Failed(node.StepBeforeStop, refused, start), node.StepNone},
		"to stop once more, after it was to run": {toStop.Done(node.StepBeforeStop, start).Ordered(run, start).Ordered(stop, start), node.StepBeforeStop},
		"never started":                          {node.View{}.Found(in(node.Created, node.RoleMain), start, start).Ordered(stop, start), node.StepRemove},
		"an init container":                      {node.View{}.Found(in(node.Running, node.RoleInit), start, start).Ordered(stop, start), node.StepStop},
		"ended, and its sidecar runs":            {node.View{}.Found(ended, start, start).Ordered(stop, start), node.StepStop},
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

func TestAnInstanceServesOnUntilItIsDrained(t *testing.T) {
	run, stop := events.Order{Action: events.ActionRun}, events.Order{Action: events.ActionStop}
	delay := events.Duration(3 * time.Second)
	port := []events.Port{{Name: "http", Port: 80}}
	in := func(spec events.Spec) *node.Container {
		return &node.Container{Handle: "c", State: node.Running, BeforeStop: node.Plan{Order: events.Order{Spec: &spec}}.BeforeStop()}
	}
	runs := func(spec events.Spec) node.View {
		return node.View{}.Ordered(run, start).Found(in(spec), start, start).Done(node.StepServe, start)
	}
	asked := events.Spec{Ports: port, TopologySpec: events.TopologySpec{Hooks: &events.Hooks{BeforeStop: &events.Hook{Exec: []string{"a"}}}}}
	late := after(time.Minute)
	for name, c := range map[string]struct {
		view  node.View
		after time.Duration
		until node.Step
	}{
		"without ports":                   {runs(events.Spec{}).Ordered(stop, late), 0, node.StepStop},
		"with the default":                {runs(events.Spec{Ports: port}).Ordered(stop, late), time.Second, node.StepStop},
		"with a delay of its own":         {runs(events.Spec{Ports: port, DrainSpec: events.DrainSpec{DrainDelay: &delay}}).Ordered(stop, late), 3 * time.Second, node.StepStop},
		"with none":                       {runs(events.Spec{Ports: port, DrainSpec: events.DrainSpec{DrainDelay: new(events.Duration)}}).Ordered(stop, late), 0, node.StepStop},
		"with a hook":                     {runs(asked).Ordered(stop, late), time.Second, node.StepBeforeStop},
		"ordered again meanwhile":         {runs(events.Spec{Ports: port}).Ordered(stop, late).Ordered(stop, late.Add(time.Second/2)), time.Second, node.StepStop},
		"ordered to run and then to stop": {runs(events.Spec{Ports: port}).Ordered(stop, start).Ordered(run, start).Ordered(stop, late), time.Second, node.StepStop},
		"found by a process that is new":  {node.View{}.Ordered(stop, late).Found(in(events.Spec{Ports: port}), late, late), time.Second, node.StepStop},
		"found before the order was read": {node.View{}.Found(in(events.Spec{Ports: port}), start, start).Ordered(stop, late), time.Second, node.StepStop},
		"begun after the order had come":  {node.View{}.Ordered(stop, start).Found(in(events.Spec{Ports: port}), late, late), 0, node.StepStop},
		"ended while it was to serve on":  {runs(events.Spec{Ports: port}).Ordered(stop, late).Found(exited(in(events.Spec{Ports: port})), late, late), 0, node.StepRemove},
	} {
		if c.after > 0 {
			if step, until := c.view.Next(late.Add(c.after - 1)); step != node.StepWait || !until.Equal(late.Add(c.after)) {
				t.Errorf("%s: before %s the step is %d until %s", name, c.after, step, until)
			}
		}
		if step, _ := c.view.Next(late.Add(c.after)); step != c.until {
			t.Errorf("%s: after %s the step is %d, want %d", name, c.after, step, c.until)
		}
	}
}

func exited(c *node.Container) *node.Container {
	c.State = node.Exited
	return c
}

// TestAnExclusiveInstanceIsNotDrainedForLongerThanItsHostLetsItRun cuts its node off while it serves on.
func TestAnExclusiveInstanceIsNotDrainedForLongerThanItsHostLetsItRun(t *testing.T) {
	const window, grace = 20 * time.Second, 2 * time.Second
	delay := events.Duration(time.Minute)
	spec := &events.Spec{StopGrace: events.Duration(grace), Ports: []events.Port{{Name: "http", Port: 80}}, DrainSpec: events.DrainSpec{DrainDelay: &delay}}
	order := events.Order{Action: events.ActionRun, Spec: spec, Window: events.Duration(window)}
	c := &node.Container{Handle: "c", State: node.Running, BeforeStop: node.Plan{Order: order}.BeforeStop()}
	v := node.View{Heard: start}.Ordered(order, start).Found(c, start, start).Ordered(events.Order{Action: events.ActionStop}, start)
	end := start.Add(window - grace - time.Second)
	if step, until := v.Next(start); step != node.StepWait || !until.Equal(end) {
		t.Errorf("the step is %d until %s, want to wait until %s", step, until, end)
	}
	if step, _ := v.Next(end); step != node.StepStop {
		t.Errorf("then the step is %d", step)
	}
	v.Heard = start.Add(time.Minute)
	if step, until := v.Next(end); step != node.StepWait || !until.Equal(start.Add(time.Minute)) {
		t.Errorf("with an answer to a heartbeat the step is %d until %s", step, until)
	}
}
