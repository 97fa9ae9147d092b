package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// checked is an instance that runs since start and is asked every 10 s, with 2 retries.
func checked(startPeriod time.Duration) node.View {
	spec := events.Spec{HealthSpec: events.HealthSpec{Health: &events.Health{
		Exec: []string{"/check"}, Interval: events.DefaultCheckInterval, Timeout: events.DefaultCheckTimeout, Retries: 2,
		StartPeriod: events.Duration(startPeriod),
	}}, RestartSpec: quick}
	v := node.View{}.Ordered(events.Order{Action: events.ActionRun, Spec: &spec}, start).Prepared(*container(node.Created, 0), start)
	return v.Done(node.StepStart, start)
}

func TestAnInstanceServesOnceItIsHealthy(t *testing.T) {
	no := errors.New("no")
	c := *container(node.Running, 0)
	well := checked(0).Checked(c, nil, start)
	serving := well.Done(node.StepServe, start)
	missed := serving.Checked(c, no, after(10*time.Second))
	sick := missed.Checked(c, no, after(20*time.Second))
	gone := sick.Done(node.StepStop, after(20*time.Second)).Done(node.StepRemove, after(20*time.Second))
	for name, k := range map[string]struct {
		view  node.View
		now   time.Duration
		step  node.Step
		phase events.Phase
	}{
		"started":                       {checked(0), 0, node.StepCheck, events.PhaseStarted},
		"not yet healthy":               {checked(0).Checked(c, no, start), 0, node.StepWait, events.PhaseStarted},
		"asked again soon":              {checked(0).Checked(c, no, start), time.Second, node.StepCheck, events.PhaseStarted},
		"healthy":                       {well, 0, node.StepServe, events.PhaseStarted},
		"serving":                       {serving, 9 * time.Second, node.StepWait, events.PhaseOnline},
		"serving, and due":              {serving, 10 * time.Second, node.StepCheck, events.PhaseOnline},
		"missed once":                   {missed, 20 * time.Second, node.StepCheck, events.PhaseOnline},
		"missed once and well again":    {missed.Checked(c, nil, after(20*time.Second)).Checked(c, no, after(30*time.Second)), 40 * time.Second, node.StepCheck, events.PhaseOnline},
		"sick":                          {sick, 20 * time.Second, node.StepStop, events.PhaseOffline},
		"sick and stopped":              {sick.Done(node.StepStop, after(20*time.Second)), 20 * time.Second, node.StepRemove, events.PhaseOffline},
		"sick and removed":              {gone, 20 * time.Second, node.StepWait, events.PhaseOffline},
		"sick, after the back-off":      {gone, 21 * time.Second, node.StepPrepare, events.PhaseOffline},
		"never well":                    {checked(0).Checked(c, no, after(20*time.Second)), 20 * time.Second, node.StepStop, events.PhaseOffline},
		"in its start period":           {checked(time.Minute).Checked(c, no, after(79*time.Second)), 80 * time.Second, node.StepCheck, events.PhaseStarted},
		"after its start period":        {checked(time.Minute).Checked(c, no, after(80*time.Second)), 80 * time.Second, node.StepStop, events.PhaseOffline},
		"an answer of one before":       {checked(0).Checked(node.Container{Handle: "other"}, nil, start), 0, node.StepCheck, events.PhaseStarted},
		"an answer after an order":      {serving.Ordered(events.Order{Action: events.ActionStop}, start).Checked(c, no, after(time.Hour)), time.Hour, node.StepStop, events.PhaseOnline},
		"an answer after the exit":      {serving.Found(container(node.Exited, 0), after(1), after(1)).Checked(c, nil, after(2)), 2, node.StepWait, events.PhaseOffline},
		"adopted, and not asked so far": {node.View{}.Found(container(node.Running, 0), start, start).Ordered(checked(0).Order, start), 0, node.StepCheck, events.PhaseStarted},
	} {
		step, _ := k.view.Next(after(k.now))
		if step != k.step || k.view.Phase != k.phase {
			t.Errorf("%s: step %d, %s; want step %d, %s", name, step, k.view.Phase, k.step, k.phase)
		}
	}
	if sick.Reason != events.OfflineUnhealthy || !strings.Contains(sick.Message, "no") {
		t.Errorf("sick is %s: %q", sick.Reason, sick.Message)
	}
	late := checked(0).Checked(c, context.DeadlineExceeded, after(time.Minute))
	if !strings.Contains(late.Message, "no answer within 2s") {
		t.Errorf("a check that was given up says %q", late.Message)
	}
}

func TestRestartPolicies(t *testing.T) {
	second := events.Duration(time.Second)
	run := func(r events.Restart, codes ...int32) node.View {
		v := node.View{}.Ordered(events.Order{Action: events.ActionRun, Spec: &events.Spec{RestartSpec: events.RestartSpec{Restart: &r}}}, start)
		for i, code := range codes {
			now := after(time.Duration(i) * time.Minute)
			c := container(node.Created, v.NextAttempt())
			c.ExitCode = code
			v = v.Done(node.StepRemove, now).Prepared(*c, now).Done(node.StepStart, now).Done(node.StepServe, now)
			v = v.Found(became(c, node.Exited), now, now)
		}
		return v
	}
	for name, c := range map[string]struct {
		view node.View
		says string // "" where it is restarted
	}{
		"always":                   {run(events.Restart{}, 0), ""},
		"never":                    {run(events.Restart{Policy: events.RestartNever}, 1), "never"},
		"on-failure, of one":       {run(events.Restart{Policy: events.RestartOnFailure}, 1), ""},
		"on-failure, of none":      {run(events.Restart{Policy: events.RestartOnFailure}, 0), "on-failure"},
		"the last attempt is left": {run(events.Restart{Attempts: 2}, 1, 1), ""},
		"no attempt is left":       {run(events.Restart{Attempts: 2}, 1, 1, 1), "2 times"},
		"within the window":        {run(events.Restart{Attempts: 1, Window: 100 * second}, 1, 1), "within 1m40s"},
		"beyond the window":        {run(events.Restart{Attempts: 1, Window: 50 * second}, 1, 1, 1, 1), ""},
	} {
		step, _ := c.view.Next(after(time.Hour))
		if (step == node.StepNone) != (c.says != "") || !strings.Contains(c.view.Message, c.says) {
			t.Errorf("%s: step %d, %q, want %q", name, step, c.view.Message, c.says)
		}
	}
	never := run(events.Restart{Policy: events.RestartNever}, 1)
	if again := never.Ordered(events.Order{Action: events.ActionStop}, start); again.GivenUp() == "" {
		t.Error("an order to stop has it run again")
	} else if step, _ := again.Next(start); step != node.StepRemove {
		t.Errorf("the next step of an instance that does not restart and must stop is %d", step)
	}
	delayed := run(events.Restart{Delay: 3 * second, MaxDelay: 5 * second}, 1, 1)
	if delay := delayed.RetryAt.Sub(after(time.Minute)); delay != 5*time.Second {
		t.Errorf("the second delay is %s, want 5s", delay)
	}
}

func TestTheWholeOfAContainerWithSidecars(t *testing.T) {
	ended := &node.Container{Handle: "c", State: node.Exited, ExitCode: 3, Ended: "proxy", Beside: true}
	v := serving().Found(ended, after(1), after(1))
	if v.Reason != events.OfflineExited || !strings.Contains(v.Message, "sidecar proxy") {
		t.Errorf("the end of a sidecar is told as %s: %q", v.Reason, v.Message)
	}
	for i, want := range []node.Step{node.StepStop, node.StepRemove, node.StepPrepare} {
		step, _ := v.Next(after(2 * time.Second))
		if step != want {
			t.Errorf("step %d is %d, want %d", i, step, want)
		}
		v = v.Done(step, after(2*time.Second))
	}
	if step, _ := serving().Found(ended, after(1), after(1)).Ordered(events.Order{Action: events.ActionStop}, start).Next(after(1)); step != node.StepStop {
		t.Errorf("the next step of an instance that must stop while a sidecar runs is %d", step)
	}
}

func TestAKillForWantOfMemoryIsToldAsSuch(t *testing.T) {
	v := serving().Found(&node.Container{Handle: "c", State: node.Exited, ExitCode: 137, OOMKilled: true}, after(1), after(1))
	if v.Reason != events.OfflineOOMKilled || v.ExitCode == nil || *v.ExitCode != 137 {
		t.Errorf("it is told as %s, %v", v.Reason, v.ExitCode)
	}
}
