package node_test

import (
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

func initContainer(state node.State, attempt uint32, code int32) *node.Container {
	return &node.Container{Handle: "i", Role: node.RoleInit, State: state, Attempt: attempt, ExitCode: code}
}

func TestAnInitContainerGoesBeforeTheMainOne(t *testing.T) {
	run := events.Order{Action: events.ActionRun, Spec: &specs[0]}
	stop := events.Order{Action: events.ActionStop}
	begun := node.View{}.Ordered(run, start).Prepared(*initContainer(node.Created, 0, 0), start)
	running := begun.Done(node.StepStart, start)
	done := running.Found(initContainer(node.Exited, 0, 0), after(1), after(1))
	failed := running.Found(initContainer(node.Exited, 0, 3), after(1), after(1))
	adopted := func(c *node.Container) node.View { return node.View{}.Found(c, start, start) }
	for name, c := range map[string]struct {
		view   node.View
		step   node.Step
		phase  events.Phase
		reason events.OfflineReason
		role   node.Role // of the next container to be made
	}{
		"ordered":                   {node.View{}.Ordered(run, start), node.StepPrepare, events.PhasePlaced, "", node.RoleInit},
		"made":                      {begun, node.StepStart, events.PhasePrepared, "", node.RoleInit},
		"running":                   {running, node.StepNone, events.PhasePrepared, "", node.RoleInit},
		"ended well":                {done, node.StepRemove, events.PhasePrepared, "", node.RoleInit},
		"removed":                   {done.Done(node.StepRemove, after(2)), node.StepPrepare, events.PhasePrepared, "", node.RoleMain},
		"failed":                    {failed, node.StepWait, events.PhaseOffline, events.OfflineInitFailed, node.RoleInit},
		"failed and removed":        {failed.Done(node.StepRemove, after(2)), node.StepWait, events.PhaseOffline, events.OfflineInitFailed, node.RoleInit},
		"stopped while running":     {running.Ordered(stop, start), node.StepStop, events.PhasePrepared, "", node.RoleInit},
		"stopped, and to run again": {running.Ordered(stop, start).Ordered(run, start).Done(node.StepStop, start), node.StepRemove, events.PhaseOffline, events.OfflineUnknown, node.RoleInit},
		"stopped when it has ended": {done.Ordered(stop, start), node.StepRemove, events.PhasePrepared, "", node.RoleInit},
		"adopted running":           {adopted(initContainer(node.Running, 2, 0)).Ordered(run, start), node.StepNone, events.PhasePrepared, "", node.RoleInit},
		"adopted made":              {adopted(initContainer(node.Created, 2, 0)).Ordered(run, start), node.StepStart, events.PhasePrepared, "", node.RoleInit},
		"adopted when ended":        {adopted(initContainer(node.Exited, 2, 0)).Ordered(run, start), node.StepRemove, events.PhasePrepared, "", node.RoleInit},
		"adopted when failed":       {adopted(initContainer(node.Exited, 2, 3)).Ordered(run, start), node.StepRemove, events.PhaseOffline, events.OfflineInitFailed, node.RoleInit},
		"adopted with no order":     {adopted(initContainer(node.Running, 2, 0)), node.StepNone, events.PhasePrepared, "", node.RoleMain},
		"adopted, to be stopped":    {adopted(initContainer(node.Exited, 2, 3)).Ordered(stop, start), node.StepRemove, events.PhasePrepared, "", node.RoleMain},
	} {
		step, _ := c.view.Next(after(2))
		s := c.view.State(1)
		if step != c.step || s.Phase != c.phase || s.Reason != c.reason || c.view.NextRole() != c.role {
			t.Errorf("%s: step %d, %s %q, next %q; want step %d, %s %q, next %q",
				name, step, s.Phase, s.Reason, c.view.NextRole(), c.step, c.phase, c.reason, c.role)
		}
	}
	main := done.Done(node.StepRemove, after(2)).Prepared(*container(node.Created, 0), after(3)).Done(node.StepStart, after(4)).Done(node.StepServe, after(5))
	if next := main.Found(container(node.Exited, 0), after(6), after(6)); next.NextRole() != node.RoleInit {
		t.Error("the attempt after an exit has no init container")
	}
}
