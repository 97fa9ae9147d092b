package node_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return start.Add(d) }

func ordered(action events.Action) node.View {
	return node.View{}.Ordered(events.Order{Action: action, Spec: &events.Spec{StopGrace: events.DefaultStopGrace, RestartSpec: quick}}, start)
}

// quick restarts instances after a second.
var quick = events.RestartSpec{Restart: &events.Restart{Delay: events.Duration(time.Second), MaxDelay: events.Duration(time.Minute)}}

func container(state node.State, attempt uint32) *node.Container {
	return &node.Container{Handle: "c", State: state, Attempt: attempt}
}

// serving is an instance that serves since start.
func serving() node.View {
	v := ordered(events.ActionRun).Prepared(*container(node.Created, 0), start)
	return v.Done(node.StepStart, start).Done(node.StepServe, start)
}

func stopping() node.View { return serving().Ordered(events.Order{Action: events.ActionStop}, start) }

func TestAViewSaysWhatIsSeenAndWhatComesNext(t *testing.T) {
	pull := &node.Failure{Reason: events.OfflineImagePull, Message: "no such image"}
	exited := &node.Container{Handle: "c", State: node.Exited, ExitCode: 3}
	created := ordered(events.ActionRun).Prepared(*container(node.Created, 0), start)
	crashed := serving().Found(exited, after(1), after(1))
	for name, c := range map[string]struct {
		view    node.View
		now     time.Time
		step    node.Step
		phase   events.Phase
		attempt uint32
		reason  events.OfflineReason
	}{
		"no order":              {node.View{}, start, node.StepNone, events.PhasePlaced, 0, ""},
		"an order to run":       {ordered(events.ActionRun), start, node.StepPrepare, events.PhasePlaced, 0, ""},
		"prepared":              {created, start, node.StepStart, events.PhasePrepared, 0, ""},
		"started":               {created.Done(node.StepStart, start), start, node.StepServe, events.PhaseStarted, 0, ""},
		"serving":               {serving(), start, node.StepNone, events.PhaseOnline, 0, ""},
		"exited":                {crashed, after(1), node.StepWait, events.PhaseOffline, 0, events.OfflineExited},
		"exited, after a while": {crashed, after(2 * time.Second), node.StepRemove, events.PhaseOffline, 0, events.OfflineExited},
		"exited and removed": {
			crashed.Done(node.StepRemove, after(2*time.Second)), after(2 * time.Second), node.StepPrepare, events.PhaseOffline, 0, events.OfflineExited,
		},
		"vanished":       {serving().Found(nil, after(1), after(1)), after(1), node.StepWait, events.PhaseOffline, 0, events.OfflineUnknown},
		"failed prepare": {ordered(events.ActionRun).Failed(node.StepPrepare, pull, start), start, node.StepWait, events.PhaseOffline, 0, events.OfflineImagePull},
		"failed start":   {created.Failed(node.StepStart, errors.New("no"), start), start, node.StepWait, events.PhaseOffline, 0, events.OfflineCreateFailed},
		"failed start, after a while": {
			created.Failed(node.StepStart, errors.New("no"), start), after(time.Second), node.StepRemove, events.PhaseOffline, 0, events.OfflineCreateFailed,
		},
		"a stale look":             {serving().Found(nil, after(-1), after(1)), after(1), node.StepNone, events.PhaseOnline, 0, ""},
		"adopted":                  {ordered(events.ActionRun).Found(container(node.Running, 2), start, start), start, node.StepServe, events.PhaseStarted, 2, ""},
		"an order to stop":         {stopping(), start, node.StepStop, events.PhaseOnline, 0, ""},
		"a failed stop":            {stopping().Failed(node.StepStop, errors.New("no"), start), start, node.StepWait, events.PhaseOnline, 0, ""},
		"stopped":                  {stopping().Done(node.StepStop, start), start, node.StepRemove, events.PhaseStopped, 0, ""},
		"removed":                  {stopping().Done(node.StepStop, start).Done(node.StepRemove, start), start, node.StepNone, events.PhaseRemoved, 0, ""},
		"an order to stop nothing": {ordered(events.ActionStop), start, node.StepRemove, events.PhasePlaced, 0, ""},
		"an order to forget":       {stopping().Ordered(events.Order{Action: events.ActionForget}, start), start, node.StepNone, events.PhaseOnline, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			step, _ := c.view.Next(c.now)
			s := c.view.State(1)
			if step != c.step || s.Phase != c.phase || s.Attempt != c.attempt || s.Reason != c.reason {
				t.Errorf("step %d, %s in attempt %d %q; want step %d, %s in attempt %d %q",
					step, s.Phase, s.Attempt, s.Reason, c.step, c.phase, c.attempt, c.reason)
			}
		})
	}
}

func TestAnOrderThatComesDuringAStep(t *testing.T) {
	no := errors.New("no")
	created := ordered(events.ActionRun).Prepared(*container(node.Created, 0), start)
	run, stop := events.Order{Action: events.ActionRun}, events.Order{Action: events.ActionStop}
	failing := created.Failed(node.StepStart, no, start)
	adopted := node.View{}.Found(&node.Container{Handle: "c", State: node.Exited, ExitCode: 3, Attempt: 2}, start, start)
	removed := stopping().Done(node.StepStop, start).Done(node.StepRemove, start)
	for name, c := range map[string]struct {
		view    node.View
		step    node.Step
		phase   events.Phase
		attempt uint32
		reason  events.OfflineReason
	}{
		"to stop while prepared":             {ordered(events.ActionRun).Ordered(stop, start).Prepared(*container(node.Created, 0), start), node.StepRemove, events.PhasePrepared, 0, ""},
		"to stop while a prepare fails":      {ordered(events.ActionRun).Ordered(stop, start).Failed(node.StepPrepare, no, start), node.StepRemove, events.PhasePlaced, 0, ""},
		"to stop while started":              {created.Ordered(stop, start).Done(node.StepStart, start), node.StepStop, events.PhaseStarted, 0, ""},
		"to stop while a start fails":        {created.Ordered(stop, start).Failed(node.StepStart, no, start), node.StepRemove, events.PhasePrepared, 0, ""},
		"to stop while a failure is removed": {failing.Ordered(stop, start).Done(node.StepRemove, start), node.StepNone, events.PhaseRemoved, 0, ""},
		"to stop while a removal fails":      {failing.Ordered(stop, start).Failed(node.StepRemove, no, start), node.StepWait, events.PhaseOffline, 0, events.OfflineCreateFailed},
		"to run while stopped":               {stopping().Ordered(run, start).Done(node.StepStop, start), node.StepRemove, events.PhaseOffline, 0, events.OfflineUnknown},
		"to run while removed":               {stopping().Done(node.StepStop, start).Ordered(run, start).Done(node.StepRemove, start), node.StepPrepare, events.PhaseOffline, 0, events.OfflineUnknown},
		"to run after the removal":           {removed.Ordered(run, start), node.StepPrepare, events.PhaseOffline, 0, events.OfflineUnknown},
		"to run what was adopted after it":   {adopted.Ordered(run, start), node.StepRemove, events.PhaseOffline, 2, events.OfflineExited},
		"to forget while removed":            {stopping().Done(node.StepStop, start).Ordered(events.Order{Action: events.ActionForget}, start).Done(node.StepRemove, start), node.StepNone, events.PhaseStopped, 0, ""},
		"to stop and to run while a prepare fails": {
			ordered(events.ActionRun).Ordered(stop, start).Ordered(run, start).Failed(node.StepPrepare, no, start), node.StepWait, events.PhaseOffline, 0, events.OfflineCreateFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			step, _ := c.view.Next(start)
			s := c.view.State(1)
			if step != c.step || s.Phase != c.phase || s.Attempt != c.attempt || s.Reason != c.reason {
				t.Errorf("step %d, %s in attempt %d %q; want step %d, %s in attempt %d %q",
					step, s.Phase, s.Attempt, s.Reason, c.step, c.phase, c.attempt, c.reason)
			}
		})
	}
}

func TestAStepThatFailedAndHadItsEffect(t *testing.T) {
	no := errors.New("no")
	created := ordered(events.ActionRun).Prepared(*container(node.Created, 0), start)
	stop := events.Order{Action: events.ActionStop}
	later := after(time.Minute)
	for name, c := range map[string]struct {
		view    node.View
		step    node.Step
		phase   events.Phase
		attempt uint32
	}{
		"prepare":             {ordered(events.ActionRun).Failed(node.StepPrepare, no, start).Found(container(node.Created, 0), later, later), node.StepRemove, events.PhaseOffline, 0},
		"start, and it runs":  {created.Failed(node.StepStart, no, start).Found(container(node.Running, 0), later, later), node.StepServe, events.PhaseStarted, 1},
		"start, and it ended": {created.Failed(node.StepStart, no, start).Found(container(node.Exited, 0), later, later), node.StepRemove, events.PhaseOffline, 0},
		"remove":              {created.Failed(node.StepStart, no, start).Failed(node.StepRemove, no, start).Found(nil, later, later), node.StepPrepare, events.PhaseOffline, 0},
		"stop":                {stopping().Failed(node.StepStop, no, start).Found(container(node.Exited, 0), later, later), node.StepRemove, events.PhaseStopped, 0},
		"prepare, found after the removal": {
			ordered(events.ActionRun).Ordered(stop, start).Failed(node.StepPrepare, no, start).Done(node.StepRemove, start).Found(container(node.Created, 0), later, later),
			node.StepRemove, events.PhaseRemoved, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			step, _ := c.view.Next(later)
			if s := c.view.State(1); step != c.step || s.Phase != c.phase || s.Attempt != c.attempt {
				t.Errorf("step %d, %s in attempt %d; want step %d, %s in attempt %d", step, s.Phase, s.Attempt, c.step, c.phase, c.attempt)
			}
		})
	}
}

func TestTheNextAttemptFollowsAFailure(t *testing.T) {
	crashed := serving().Found(container(node.Exited, 0), after(1), after(1))
	if next := crashed.Done(node.StepRemove, after(2)).NextAttempt(); next != 1 {
		t.Errorf("the attempt after an exit is %d, want 1", next)
	}
	failed := ordered(events.ActionRun).Failed(node.StepPrepare, errors.New("no"), start)
	again := failed.Failed(node.StepPrepare, errors.New("no"), after(time.Second))
	if again.Attempt != 1 || again.NextAttempt() != 2 {
		t.Errorf("after two failures the attempt is %d and the next %d, want 1 and 2", again.Attempt, again.NextAttempt())
	}
}

func TestFailuresAreForgottenAfterServingLong(t *testing.T) {
	for _, c := range []struct{ served, want time.Duration }{{time.Minute, 4 * time.Second}, {6 * time.Minute, time.Second}} {
		v := serving()
		v.Failures = 2
		v = v.Found(container(node.Exited, 0), after(c.served), after(c.served))
		if delay := v.RetryAt.Sub(after(c.served)); delay != c.want {
			t.Errorf("after serving %s the delay is %s, want %s", c.served, delay, c.want)
		}
	}
}

// specs lead instances through more phases and steps than a plain spec does.
var specs = []events.Spec{
	{InitSpec: events.InitSpec{Init: &events.InitContainer{}}},
	{HealthSpec: events.HealthSpec{Health: &events.Health{Interval: events.DefaultCheckInterval, Retries: 1}}},
	{RestartSpec: events.RestartSpec{Restart: &events.Restart{Policy: events.RestartOnFailure, Attempts: 2}}},
	{TopologySpec: events.TopologySpec{Hooks: &events.Hooks{BeforeStop: &events.Hook{Signal: "SIGHUP"}}}},
}

// TestPositionsNeverSink walks every history of steps, failures and discoveries up to a depth: what a node says within
// one epoch must only climb, else the leader ignores it.
func TestPositionsNeverSink(t *testing.T) {
	const depth = 7
	walked := 0
	var walk func(v node.View, now time.Time, path string, left int)
	walk = func(v node.View, now time.Time, path string, left int) {
		walked++
		if left == 0 {
			return
		}
		for name, next := range branches(v, now.Add(2*time.Minute)) {
			before, s := v.State(1).Position, next.State(1).Position
			if s != before && !s.Above(before) {
				t.Fatalf("%s > %s: the position sinks from %+v to %+v", path, name, before, s)
			}
			walk(next, now.Add(2*time.Minute), path+" > "+name, left-1)
		}
	}
	walk(ordered(events.ActionRun), start, "run", depth)
	for _, spec := range specs {
		walk(node.View{}.Ordered(events.Order{Action: events.ActionRun, Spec: &spec}, start), start, "run", depth)
	}
	if walked < 1000 {
		t.Errorf("only %d views were walked", walked)
	}
}

func became(c *node.Container, state node.State) *node.Container {
	changed := *c
	changed.State = state
	return &changed
}

// branches returns all that may happen to the view now, by name.
func branches(v node.View, now time.Time) map[string]node.View {
	next := map[string]node.View{}
	if v.Order.Action == events.ActionRun {
		next["ordered to stop"] = v.Ordered(events.Order{Action: events.ActionStop}, now)
	}
	if v.Container != nil {
		next["vanished"] = v.Found(nil, now, now)
		if v.Container.State == node.Running {
			exited := *v.Container
			exited.State = node.Exited
			next["exited"] = v.Found(&exited, now, now)
			failed := exited
			failed.ExitCode = 3
			next["failed"] = v.Found(&failed, now, now)
		}
	}
	stop := events.Order{Action: events.ActionStop}
	step, _ := v.Next(now)
	switch step {
	case node.StepPrepare:
		made := container(node.Created, v.NextAttempt())
		made.Role = v.NextRole()
		made.BeforeStop = node.Plan{Order: v.Order, Role: made.Role}.BeforeStop()
		next["prepared"] = v.Prepared(*made, now)
		next["prepared, ordered to stop meanwhile"] = v.Ordered(stop, now).Prepared(*made, now)
		next["prepare failed"] = v.Failed(step, errors.New("no"), now)
		next["prepare failed, and made it"] = v.Failed(step, errors.New("no"), now).Found(made, now, now)
		next["prepare failed, ordered to stop meanwhile"] = v.Ordered(stop, now).Failed(step, errors.New("no"), now)
	case node.StepStart:
		next["done"] = v.Done(step, now)
		next["start failed"] = v.Failed(step, errors.New("no"), now)
		next["failed, and runs"] = next["start failed"].Found(became(v.Container, node.Running), now, now)
		next["failed, and ended"] = next["start failed"].Found(became(v.Container, node.Exited), now, now)
		next["done, ordered to stop meanwhile"] = v.Ordered(stop, now).Done(step, now)
		next["failed, ordered to stop meanwhile"] = v.Ordered(stop, now).Failed(step, errors.New("no"), now)
	case node.StepRemove:
		next["done"] = v.Done(step, now)
		next["failed"] = v.Failed(step, errors.New("no"), now)
		next["done, ordered to stop meanwhile"] = v.Ordered(stop, now).Done(step, now)
		next["failed, ordered to stop meanwhile"] = v.Ordered(stop, now).Failed(step, errors.New("no"), now)
	case node.StepBeforeStop, node.StepStop:
		next["done"] = v.Done(step, now)
		next["failed"] = v.Failed(step, errors.New("no"), now)
	case node.StepCheck:
		next["healthy"] = v.Checked(*v.Container, nil, now)
		next["unhealthy"] = v.Checked(*v.Container, errors.New("no"), now)
	case node.StepServe:
		next["served"] = v.Done(step, now)
	case node.StepNone, node.StepWait:
	}
	return next
}

// TestAContainerThatTurnsUpAfterItsEndIsTold covers an abandoned call that creates its container after the instance was removed and
// forgotten. The node must report the container, or the leader never stops it.
func TestAContainerThatTurnsUpAfterItsEndIsTold(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		order events.Action
		state node.State
		want  events.Phase
	}{
		{events.ActionForget, node.Created, events.PhasePrepared},
		{events.ActionForget, node.Running, events.PhaseStarted},
		{events.ActionForget, node.Exited, events.PhaseStopped},
		{events.ActionStop, node.Created, events.PhaseRemoved},
		{events.ActionStop, node.Exited, events.PhaseRemoved},
	} {
		v := node.View{Order: events.Order{Action: c.order}, Phase: events.PhaseRemoved}
		v = v.Found(&node.Container{State: c.state}, now, now)
		if v.Phase != c.want {
			t.Errorf("under an order to %s, a container in state %d is told as %s, want %s", c.order, c.state, v.Phase, c.want)
		}
	}
}

// TestAContainerThatTurnsUpBeforeItIsForgottenIsRemoved has the leader forget an instance that was told to be removed, while the node
// removes a container that a call made after that.
func TestAContainerThatTurnsUpBeforeItIsForgottenIsRemoved(t *testing.T) {
	for state, want := range map[node.State][]node.Step{
		node.Created: {node.StepRemove, node.StepNone},
		node.Running: {node.StepStop, node.StepRemove, node.StepNone},
		node.Exited:  {node.StepRemove, node.StepNone},
	} {
		v := node.View{Order: events.Order{Action: events.ActionStop}, Phase: events.PhaseRemoved}
		v = v.Found(container(state, 0), start, start).Ordered(events.Order{Action: events.ActionForget}, start)
		for _, next := range want {
			step, _ := v.Next(start)
			if step != next || v.Phase != events.PhaseRemoved {
				t.Errorf("a container in state %d: step %d, %s; want step %d, %s", state, step, v.Phase, next, events.PhaseRemoved)
			}
			v = v.Done(step, start)
		}
	}
}
