package views_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// TestAnInstanceIsShownWithWhatHoldsAndWhen lets an instance end again and again, second by second, and then lets another one replace it.
func TestAnInstanceIsShownWithWhatHoldsAndWhen(t *testing.T) {
	c, web, sequence := projections.NewCluster(), events.ServiceID{Namespace: "demo", Name: "web"}, uint64(0)
	code := int32(3)
	seen := func(generation, attempt uint32, phase events.Phase) events.InstanceSeen {
		return events.InstanceSeen{Generation: generation, Node: "n", Position: events.Position{Epoch: 1, Attempt: attempt, Phase: phase}}
	}
	ended := func(attempt uint32, last events.NoRestart) events.Data {
		s := seen(1, attempt, events.PhaseOffline)
		s.Reason, s.ExitCode, s.NoRestart = events.OfflineExited, &code, last
		return events.InstanceOffline{InstanceSeen: s}
	}
	online := func(attempt uint32) events.Data {
		return events.InstanceOnline{InstanceSeen: seen(1, attempt, events.PhaseOnline)}
	}
	retired := events.InstanceRetired{Generation: 1, Reason: events.RetireCrashLooping}
	spec := events.Spec{Image: "localhost/web:1", RestartSpec: events.RestartSpec{Restart: &events.Restart{Delay: events.Duration(10 * time.Second), Attempts: 2}}}
	at := func(second int64) time.Time {
		if second == 0 {
			return time.Time{}
		}
		return time.Unix(second, 0).UTC()
	}
	for _, step := range []struct {
		data               events.Data
		status             string
		scheduled, running string // why not; "" where it holds
		times              [4]int64
		crashes            uint32
		says               string
	}{
		{events.ServiceRevised{Revision: 1, Spec: spec, Hash: spec.Hash()}, "", "", "", [4]int64{}, 0, ""},
		{events.ServiceScaled{Scale: 1}, "pending", "no-node", "not-scheduled", [4]int64{2}, 0, ""},
		{events.InstancePlaced{Generation: 1, Revision: 1, Node: "n"}, "offline", "", "initializing", [4]int64{2, 3}, 0, ""},
		{online(0), "online", "", "", [4]int64{2, 3, 4}, 0, ""},
		{ended(0, ""), "offline", "", "exited", [4]int64{2, 3, 4}, 0, ""},
		{online(1), "online", "", "", [4]int64{2, 3, 4, 6}, 0, ""},
		{ended(1, ""), "offline", "", "exited", [4]int64{2, 3, 4, 6}, 0, ""},
		{ended(2, events.NoRestartAttempts), "crash-looping", "", "exited", [4]int64{2, 3, 4, 6}, 3, "ended 3 times in a row, exit codes 3 3 3"},
		{retired, "crash-looping", "crash-looping", "exited", [4]int64{2, 3, 4, 6}, 3, "next try at 1970-01-01T00:00:19Z"},
		{events.InstanceRemoved{InstanceSeen: seen(1, 2, events.PhaseRemoved)}, "crash-looping", "back-off", "not-scheduled", [4]int64{9}, 3, "next try at"},
		{events.InstancePlaced{Generation: 2, Revision: 1, Node: "m"}, "crash-looping", "", "initializing", [4]int64{9, 11}, 3, "ended 3 times"},
	} {
		sequence++
		if err := c.Apply(events.Record{Event: events.Event{Scope: events.ServiceScope(web), Data: step.data}, Sequence: sequence, Time: at(int64(sequence))}); err != nil {
			t.Fatal(err)
		}
		body := views.All(c).Values[views.Key{Bucket: bus.BucketInstances, Key: "demo.web.0"}]
		if body == nil && step.status == "" {
			continue
		}
		var v views.Instance
		if err := json.Unmarshal(body, &v); err != nil {
			t.Fatal(err)
		}
		times := views.Times{Created: at(step.times[0]), Scheduled: at(step.times[1]), Started: at(step.times[2]), Restarted: at(step.times[3])}
		holds := views.Conditions{
			Scheduled: views.Condition{Status: step.scheduled == "", Reason: step.scheduled},
			Running:   views.Condition{Status: step.running == "", Reason: step.running},
		}
		if v.Status != step.status || v.Conditions != holds || v.Crashes != step.crashes || !strings.Contains(v.Message, step.says) {
			t.Errorf("at %d the view has %s, %+v, %d crashes, %q; want %s, %+v, %d, %q",
				sequence, v.Status, v.Conditions, v.Crashes, v.Message, step.status, holds, step.crashes, step.says)
		}
		if !reflect.DeepEqual(v.Times, times) {
			t.Errorf("at %d the times are %+v, want %+v", sequence, v.Times, times)
		}
	}
}
