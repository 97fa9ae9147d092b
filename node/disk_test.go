package node_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

func limited() node.View {
	v := serving()
	v.Order.Spec.Resources.Disk, v.Order.Scratch = 10, 20
	return v
}

func TestWhatTakesTooMuchDiskIsStoppedAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		usage node.Usage
		says  string
	}{
		"within both":     {node.Usage{Own: 10, Scratch: 20}, ""},
		"its own files":   {node.Usage{Own: 11}, "its own files takes 11B, more than resources.disk, 10B"},
		"its scratch":     {node.Usage{Scratch: 21}, "its scratch disk takes 21B, more than its size, 20B"},
		"nothing at all":  {node.Usage{}, ""},
		"both are beyond": {node.Usage{Own: 11, Scratch: 21}, "its own files"},
	} {
		t.Run(name, func(t *testing.T) {
			v := limited().Measured(*container(node.Running, 0), c.usage, start)
			if c.says == "" {
				if v.Phase != events.PhaseOnline {
					t.Errorf("it is %s: %s", v.Phase, v.Message)
				}
				return
			}
			if v.Reason != events.OfflineOverDisk || !strings.Contains(v.Message, c.says) {
				t.Errorf("it is offline as %s: %q; want %q", v.Reason, v.Message, c.says)
			}
			if step, _ := v.Next(start); step != node.StepStop {
				t.Errorf("the next step is %d, want to stop it", step)
			}
			v = v.Done(node.StepStop, start)
			if step, _ := v.Next(start); step != node.StepRemove {
				t.Errorf("once stopped the next step is %d, want to remove it", step)
			}
			v = v.Done(node.StepRemove, start)
			if step, until := v.Next(start); step != node.StepWait || until != after(time.Second) {
				t.Errorf("once removed the next step is %d at %s, want to wait for a second", step, until)
			}
			if step, _ := v.Next(after(time.Second)); step != node.StepPrepare || v.NextAttempt() != 1 {
				t.Errorf("then it is %d in attempt %d, want to be made for attempt 1", step, v.NextAttempt())
			}
		})
	}
}

func TestWhatIsNotToBeMeasuredAnyMoreIsLeftAlone(t *testing.T) {
	full := node.Usage{Own: 11}
	other := container(node.Running, 0)
	other.Handle = "other"
	stops := limited().Ordered(events.Order{Action: events.ActionStop}, start)
	sick := limited().Measured(*container(node.Running, 0), full, start)
	if v := limited().Measured(*other, full, start); v.Phase != events.PhaseOnline {
		t.Error("what another container takes counts")
	}
	if v := stops.Measured(*container(node.Running, 0), full, start); v.Phase != events.PhaseOnline {
		t.Error("what an instance takes counts that is to stop")
	}
	if v := sick.Measured(*container(node.Running, 0), full, after(1)); v.Failures != sick.Failures {
		t.Error("one end counts twice")
	}
	if v := sick.Failed(node.StepStop, errors.New("no"), start); v.RetryAt.IsZero() {
		t.Error("a stop that failed is not tried again after a rest")
	}
	if v := serving(); v.Measurable() {
		t.Error("an instance without a limit is measured")
	}
}

func TestARestartPolicyHoldsForWhatTookTooMuchDisk(t *testing.T) {
	v := limited()
	v.Order.Spec.Restart = &events.Restart{Policy: events.RestartNever}
	v = v.Measured(*container(node.Running, 0), node.Usage{Own: 11}, start)
	if step, _ := v.Next(start); step != node.StepStop || !strings.Contains(v.Message, "the policy is never") {
		t.Errorf("the next step is %d (%s), want to stop it and say that it is over", step, v.Message)
	}
	if step, _ := v.Done(node.StepStop, start).Next(after(time.Hour)); step != node.StepNone {
		t.Errorf("then it is %d, want nothing", step)
	}
}
