package views_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// TestANodeIsShownInTheStateThatFits applies events to a node and checks the state in its view after each.
func TestANodeIsShownInTheStateThatFits(t *testing.T) {
	c, sequence := projections.NewCluster(), uint64(0)
	node := events.NodeScope("n")
	for _, step := range []struct {
		state string
		scope events.Scope
		data  events.Data
	}{
		{"ready", node, events.NodeJoined{Epoch: 1}},
		{"not-allowed", events.ClusterScope, events.NodesAllowed{Allowed: []string{"other"}}},
		{"ready", events.ClusterScope, events.NodesAllowed{Allowed: []string{"n"}}},
		{"paused", node, events.NodePaused{}},
		{"draining", node, events.NodeDraining{Until: time.Unix(100, 0)}},
		{"drained", node, events.NodeDrained{Forced: true}},
		{"degraded", node, events.NodeDegraded{Message: "it hangs"}},
		{"drained", node, events.NodeRecovered{}},
		{"ready", node, events.NodeResumed{}},
		{"silent", node, events.NodeSilent{}},
		{"lost", node, events.NodeLost{}},
		{"ready", node, events.NodeReturned{}},
	} {
		sequence++
		record := events.Record{Event: events.Event{Scope: step.scope, Data: step.data}, Sequence: sequence, Time: time.Unix(1, 0)}
		if err := c.Apply(record); err != nil {
			t.Fatal(err)
		}
		for what, body := range map[string][]byte{
			"all of the state": views.All(c).Values[views.Key{Bucket: bus.BucketNodes, Key: "n"}],
			"the event":        views.Of(c, []events.Record{record}).Values[views.Key{Bucket: bus.BucketNodes, Key: "n"}],
		} {
			var v views.Node
			if err := json.Unmarshal(body, &v); err != nil {
				t.Fatalf("after %T %s shows %s: %v", step.data, what, body, err)
			}
			if string(v.State) != step.state {
				t.Errorf("after %T %s shows it as %s, want %s", step.data, what, v.State, step.state)
			}
		}
	}
}

// TestANodeNamesTheFirstOfItsStrays lets a node list more orphans than a value names.
func TestANodeNamesTheFirstOfItsStrays(t *testing.T) {
	const all, named = 25, 20
	c := projections.NewCluster()
	for ordinal := range uint32(all) {
		found := events.StrayFound{Namespace: "demo", Name: "web", Ordinal: all - 1 - ordinal, Generation: 1, Why: events.StrayUnknownService}
		r := events.Record{Event: events.Event{Scope: events.NodeScope("n"), Data: found}, Sequence: uint64(ordinal) + 1, Time: time.Unix(1, 0)}
		if err := c.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	var v views.Node
	if err := json.Unmarshal(views.All(c).Values[views.Key{Bucket: bus.BucketNodes, Key: "n"}], &v); err != nil {
		t.Fatal(err)
	}
	if v.Orphans != all || len(v.OrphanInstances) != named {
		t.Fatalf("the node has %d orphans, and its value names %d", v.Orphans, len(v.OrphanInstances))
	}
	for i, s := range v.OrphanInstances {
		if want := fmt.Sprintf("demo/web.%d.1", i); s.Instance != want || s.Why != events.StrayUnknownService || s.Message == "" {
			t.Errorf("orphan %d is %+v, want %s with a reason", i, s, want)
		}
	}
}
