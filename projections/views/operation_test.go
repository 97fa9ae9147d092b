package views_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// TestAnOperationThatWaitsForNodesIsShownAnewAsTheyChange changes the node to which a slot is bound. The log has no event about the
// service, and the view of the operation must show the new reason all the same.
func TestAnOperationThatWaitsForNodesIsShownAnewAsTheyChange(t *testing.T) {
	c, web, sequence := projections.NewCluster(), events.ServiceScope(events.ServiceID{Namespace: "demo", Name: "web"}), uint64(0)
	apply := func(scope events.Scope, data ...events.Data) views.Changes {
		t.Helper()
		var records []events.Record
		for _, d := range data {
			sequence++
			r := events.Record{Event: events.Event{Scope: scope, Data: d}, Sequence: sequence, Time: time.Unix(1, 0)}
			if err := c.Apply(r); err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		}
		return views.Of(c, records)
	}
	revised := func(revision uint64, image string) events.Data {
		spec := events.Spec{Image: image}
		return events.ServiceRevised{Revision: revision, Spec: spec, Hash: spec.Hash()}
	}
	apply(events.NodeScope("n"), events.NodeJoined{Epoch: 1})
	apply(web, revised(1, "a"), events.ServiceScaled{Scale: 1}, events.InstancePlaced{Generation: 1, Revision: 1, Node: "n"}, revised(2, "b"),
		events.OperationStarted{Operation: events.OperationUpdate, Revision: 2, Slots: events.Ordinals{0}},
		events.OperationEntered{Phase: events.OperationWait})
	for _, step := range []struct {
		data events.Data
		want string
	}{
		{events.NodePaused{}, `"waits":[{"ordinal":0,"instance":"demo/web.0.1","node":"n","missing":"it is bound to its node, which is paused"}]`},
		{events.NodeSilent{}, "which is silent"},
		{events.NodeDegraded{Message: "hangs"}, "which is silent"},
		{events.NodeReturned{}, "which is degraded"},
		{events.NodeRecovered{}, "which is paused"},
	} {
		shown := string(apply(events.NodeScope("n"), step.data).Values[views.Key{Bucket: bus.BucketOperations, Key: "demo.web"}])
		if !strings.Contains(shown, step.want) {
			t.Errorf("after %T %s is shown, want %s", step.data, shown, step.want)
		}
	}
}
