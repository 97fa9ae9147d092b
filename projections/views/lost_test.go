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

// TestWhatIsLostIsShownSo loses the node with the only instance of a service, places a replacement, and brings the node back.
func TestWhatIsLostIsShownSo(t *testing.T) {
	c, web, n := projections.NewCluster(), events.ServiceScope(events.ServiceID{Namespace: "demo", Name: "web"}), events.NodeScope("n")
	sequence := uint64(0)
	shown := func(scope events.Scope, data ...events.Data) (node, instance, service string) {
		t.Helper()
		var records []events.Record
		for _, d := range data {
			sequence++
			r := events.Record{Event: events.Event{Scope: scope, Data: d}, Sequence: sequence, Time: time.Unix(int64(sequence), 0)}
			if err := c.Apply(r); err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		}
		values := views.Of(c, records).Values
		of := func(bucket, key string) string { return string(values[views.Key{Bucket: bucket, Key: key}]) }
		return of(bus.BucketNodes, "n"), of(bus.BucketInstances, "demo.web.0"), of(bus.BucketServices, "demo.web")
	}
	want := func(what, shown string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(shown, w) {
				t.Errorf("%s is shown as %s, want %s", what, shown, w)
			}
		}
	}
	online := func(generation uint32, node string) events.Data {
		seen := events.InstanceSeen{Generation: generation, Node: node, Position: events.Position{Epoch: 1, Phase: events.PhaseOnline}}
		return events.InstanceOnline{InstanceSeen: seen}
	}
	spec := events.Spec{Image: "a"}
	shown(n, events.NodeJoined{Epoch: 1})
	shown(events.NodeScope("o"), events.NodeJoined{Epoch: 1})
	_, instance, service := shown(web, events.ServiceRevised{Revision: 1, Spec: spec, Hash: spec.Hash()}, events.ServiceScaled{Scale: 1},
		events.InstancePlaced{Generation: 1, Revision: 1, Node: "n"}, online(1, "n"))
	want("what serves", instance, `"status":"online"`)
	want("its service", service, `"state":"running","revision":1,"scale":1,"online":1`)
	node, _, _ := shown(n, events.NodeSilent{})
	want("a silent node", node, `"state":"silent"`)
	node, _, _ = shown(n, events.NodeLost{})
	want("a lost node", node, `"state":"lost"`)
	_, instance, service = shown(web, events.InstanceLost{Generation: 1, Node: "n"},
		events.InstancePending{Nodes: 2, Removed: events.Removed{Silent: 1, Memory: 1}})
	want("what is lost", instance, `"generation":1`, `"node":"n"`, `"status":"lost"`,
		`"message":"lost connection to n; it has no replacement: of 2 nodes 1 silent, 1 with too little memory left"`)
	want("its service", service, `"state":"pending","revision":1,"scale":1,"online":0`)
	_, instance, service = shown(web, events.InstancePlaced{Generation: 2, Revision: 1, Node: "o"}, online(2, "o"))
	want("what stands in for it", instance, `"generation":2`, `"node":"o"`, `"status":"online"`)
	want("its service", service, `"state":"running","revision":1,"scale":1,"online":1`)
	node, _, _ = shown(n, events.NodeReturned{})
	want("a node that is back", node, `"state":"ready"`)
	_, instance, service = shown(web, events.InstanceRetired{Generation: 2, Reason: events.RetireReturned}, events.InstanceReturned{Generation: 1, Node: "n"})
	want("what is back", instance, `"generation":1`, `"node":"n"`, `"status":"online"`)
	want("its service, which has one too many", service, `"state":"stopping"`, `"online":1`)
}
