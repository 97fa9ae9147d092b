package rookerytest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// shownOperation returns what the bucket has of the service; without a name where it has nothing.
func shownOperation(t *testing.T, cluster *rookerytest.Cluster, key string) (v views.ServiceOperation) {
	t.Helper()
	bucket, err := cluster.Bus().Bucket(t.Context(), bus.BucketOperations)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := bucket.Get(t.Context(), key)
	if errors.Is(err, bus.ErrNoKey) {
		return v
	}
	if err == nil {
		err = json.Unmarshal(entry.Value, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestOperationsAreShown runs operations of all kinds. The bucket, `rookery ps` and `rookery events` say in which phase each operation is,
// which slots it waits for, and why. The result of an operation stays until the next operation, and is deleted with the service.
func TestOperationsAreShown(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(1))
	shows := func(what, key string, is func(views.ServiceOperation) bool) (v views.ServiceOperation) {
		t.Helper()
		cluster.Until(what, func() bool { v = shownOperation(t, cluster, key); return is(v) })
		return v
	}
	says := func(want string, args ...string) {
		t.Helper()
		cluster.Until("rookery says "+want, func() bool {
			out, code := rookery(t, append(args, "--server", cluster.URL)...)
			return code == 0 && strings.Contains(out, want)
		})
	}
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":3}`)
	if v := shownOperation(t, cluster, "demo.web"); v.Name != "" {
		t.Errorf("a service without an operation is shown with %+v", v)
	}

	updated := cluster.Publish("demo/web", "ensure", `{"image":"localhost/web:2","update":{"canaries":1,"parallelism":2,"min_healthy":"0s"}}`)
	v := shows("the canary waits", "demo.web", func(v views.ServiceOperation) bool { return v.Phase == events.OperationPromote })
	if v.Kind != events.OperationUpdate || v.Command != updated || v.Wave != 1 || v.Waves != 2 || v.Slots.String() != "0" || v.Waiting.String() != "1-2" ||
		v.Revision != 2 || v.From != 1 || v.Since.IsZero() || len(v.Waits) != 1 || v.Waits[0].Missing != "no operator has promoted it" {
		t.Errorf("the update is shown as %+v", v)
	}
	says("update to revision 2, wave 1 of 2, slots 0, phase promote since", "ps", "demo/web")
	says("operation.entered promote of wave 1, slots 0, waits for rookery promote", "events", "demo/web")
	cluster.Command("demo/web", "promote", `{}`)
	if outcome := cluster.Outcome(updated); outcome.Outcome != "succeeded" {
		t.Errorf("the update ended as %+v", outcome)
	}
	v = shows("the update is done", "demo.web", func(v views.ServiceOperation) bool { return v.Outcome == events.OperationDone })
	if v.Command != updated || v.Ended.IsZero() || v.Wave != 2 || len(v.Waits) > 0 || v.Started == 0 || v.Sequence <= v.Started {
		t.Errorf("the end of the update is shown as %+v", v)
	}

	stuck := cluster.Publish("demo/web", "ensure", `{"image":"localhost/web:2","node_selector":{"disk":"tape"},"update":{"healthy_deadline":"10s"}}`)
	v = shows("the update waits", "demo.web", func(v views.ServiceOperation) bool { return len(v.Waits) == 1 })
	if w := v.Waits[0]; w.Missing != "it has not served for 5s: no node has had room for another beside demo/web.0.2" || v.Until.IsZero() || v.Outcome != "" {
		t.Errorf("an update that no node takes is shown as %+v", v)
	}
	says("  slot 0: it has not served for 5s: no node has had room", "ps", "demo/web")
	if outcome := cluster.Outcome(stuck); outcome.Reason != events.ReasonPaused {
		t.Errorf("what no node takes ended as %+v", outcome)
	}
	shows("the update is paused", "demo.web", func(v views.ServiceOperation) bool { return v.Paused != "" && len(v.Waits) == 0 })
	says("demo/web: update to revision 3 is paused: ", "ps", "demo/web")

	cluster.Ensure("demo/kv", `{"image":"localhost/kv:1","topology":{},"max_per_node":1,"update":{"min_healthy":"0s"},"volumes":[{"name":"data","path":"/data","state":true}]}`)
	cluster.Command("demo/kv", "snapshot", `{}`)
	shows("the snapshot is taken", "demo.kv", func(v views.ServiceOperation) bool {
		return v.Kind == events.OperationSnapshot && v.Outcome == events.OperationDone && v.Phase == events.OperationExport
	})
	says("operation.entered export of wave 1, slots 0, until", "events", "demo/kv")
	cluster.Publish("demo/kv", "scale", `{"scale":2}`)
	v = shows("the rescale waits", "demo.kv", func(v views.ServiceOperation) bool { return len(v.Waits) == 1 })
	if w := v.Waits[0]; w.Ordinal != 1 || w.Missing != "it is not prepared: of 1 nodes 1 with max_per_node instances" || v.Kind != events.OperationRescale ||
		v.Waves != 1 || v.Rescale == nil || v.Phase != events.OperationPrepare {
		t.Errorf("a rescale that no node takes is shown as %+v", v)
	}
	says("rescale from 1 to 2, config version 2, slots 0-1, phase prepare since", "ps", "demo/kv")
	for _, service := range []string{"demo/kv", "demo/web"} {
		cluster.Command(service, "drop", `{}`)
		shows(service+" is gone", strings.ReplaceAll(service, "/", "."), func(v views.ServiceOperation) bool { return v.Name == "" })
	}
	checkPhases(t, cluster)
	cluster.CheckReplay()
}
