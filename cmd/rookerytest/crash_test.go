package rookerytest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node/podman/podmantest"
	"github.com/rookery-project/rookery/projections/views"
)

// TestCrashLoopsOnPodman runs a program that exits at once, with two restarts allowed, on two hosts. The instance moves from one host to
// the other, later each time. The operator is told how it ends and where its last lines are.
func TestCrashLoopsOnPodman(t *testing.T) {
	t.Parallel()
	r := startReal(t)
	podmantest.LoadWeb(t, r.secondHost().uri)
	s := r.publish(t, specRow{name: "loops", fields: `"args":["-print","3","-exit-code","7"],"restart":{"delay":"1s","attempts":2}`})
	placed := event[events.InstancePlaced](s)
	for _, pause := range []time.Duration{time.Second, 2 * time.Second} {
		for attempt := range uint32(3) {
			e := s.offline(events.OfflineExited, "")
			if e.Node != placed.Node || e.Attempt != attempt || *e.ExitCode != 7 || (e.NoRestart == events.NoRestartAttempts) != (attempt == 2) {
				t.Errorf("on %s in attempt %d it ends as %+v", placed.Node, attempt, e)
			}
		}
		if e := event[events.InstanceRetired](s); e.Generation != placed.Generation || e.Reason != events.RetireCrashLooping {
			t.Errorf("%d goes as %s", e.Generation, e.Reason)
		}
		before, retired := placed, s.at
		placed = event[events.InstancePlaced](s)
		if waited := s.at.Sub(retired); placed.Node == before.Node || waited < pause {
			t.Errorf("after %s generation %d comes to %s, and %d was on %s; want another host after %s",
				waited, placed.Generation, placed.Node, before.Generation, before.Node, pause)
		}
	}

	var loop views.Instance
	r.Until("the view names the crash loop, between two attempts", func() bool {
		loop = views.Instance{}
		if err := json.Unmarshal([]byte(runNATS(t, r.Cluster, "kv", "get", "--raw", bus.BucketInstances, "demo.loops.0")), &loop); err != nil {
			t.Fatal(err)
		}
		return loop.Status == views.StatusCrashLooping && loop.Crashes >= 6 && loop.Output != "" && !loop.Conditions.Running.Status
	})
	if len(loop.Exits) != 5 || *loop.Exits[0].ExitCode != 7 || loop.Restarts < 5 {
		t.Errorf("the view is %+v", loop)
	}
	if lines := s.printed(loop.Output); lines != lastLines(3) {
		t.Errorf("its last lines are %q", lines)
	}
	t.Log(loop.Message)
	r.Until("ps names it too, which shows it online from time to time", func() bool {
		out, _ := rookery(t, "ps", "demo/loops", "--server", r.URL)
		return strings.Contains(out, "crash-looping (ended ") && strings.Contains(out, "the last exit codes 7 7 7 7 7")
	})
	r.Command("demo/loops", "drop", `{"busy":"supersede"}`)
	r.CheckReplay()
}
