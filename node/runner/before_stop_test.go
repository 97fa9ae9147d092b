package runner_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

var errFailing = errors.New("it says no")

// asking is the spec of an instance that is asked by this hook before it is stopped.
func asking(hook string) *events.Spec {
	return &events.Spec{Image: good, StopGrace: events.DefaultStopGrace, TopologySpec: events.TopologySpec{
		Hooks: &events.Hooks{BeforeStop: &events.Hook{Exec: []string{hook}}},
	}}
}

func (w *world) wantDone(want ...string) {
	w.t.Helper()
	synctest.Wait()
	w.engine.mu.Lock()
	defer w.engine.mu.Unlock()
	if !slices.Equal(w.engine.done, want) {
		w.t.Errorf("the engine has done %q, want %q", w.engine.done, want)
	}
}

func TestAHookIsRunBeforeAStop(t *testing.T) {
	const asked = " [ROOKERY_PHASE=before_stop]"
	for hook, warns := range map[string]string{good: "", failing: "its before_stop hook: it says no", hanging: "its before_stop hook gave no answer within 10s"} {
		t.Run(hook, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.tellSpec(0, events.ActionRun, asking(hook))
				w.tellSpec(0, events.ActionStop, nil)
				if hook == hanging {
					w.wantDone(hook + asked)
					<-time.After(time.Duration(events.DefaultStopGrace))
				}
				w.wantDone(hook+asked, "stop with 10s")
				w.want(nil, nil)
				if log := w.log.String(); (warns != "") != strings.Contains(log, "WARN") || !strings.Contains(log, warns) || (warns != "" && !strings.Contains(log, "demo/web.0.1")) {
					t.Errorf("the node has logged %q, want %q", log, warns)
				}
			})
		})
	}
}

func TestAHookThatWasCutShortIsRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		end := w.begin()
		w.tellSpec(0, events.ActionRun, asking(hanging))
		w.tellSpec(0, events.ActionStop, nil)
		end() // in the middle of the hook
		w.want([]uint32{0}, nil)
		w.run()
		const asked = hanging + " [ROOKERY_PHASE=before_stop]"
		w.wantDone(asked, asked)
		<-time.After(time.Duration(events.DefaultStopGrace))
		w.wantDone(asked, asked, "stop with 10s")
		w.want(nil, nil)
	})
}

func TestAnInstanceThatDoesNotRunIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.tellSpec(0, events.ActionRun, asking(good))
		id := events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Generation: 1}
		if err := w.engine.set(*w.engine.containers[id], node.Exited); err != nil {
			t.Fatal(err)
		}
		w.engine.hint(id)
		synctest.Wait()
		w.tellSpec(0, events.ActionStop, nil)
		w.wantDone()
	})
}
