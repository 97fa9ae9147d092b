package api

import (
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

func TestANodesLastReportHasWhatNobodyAskedFor(t *testing.T) {
	c := projections.NewCluster()
	web, edge := events.ServiceScope(events.ServiceID{Namespace: "demo", Name: "web"}), events.NodeScope("edge")
	seen := events.InstanceSeen{Node: "edge", Generation: 1, Position: events.Position{Epoch: 1, Phase: events.PhaseOnline}}
	for sequence, e := range []events.Event{
		{Scope: edge, Data: events.NodeJoined{Epoch: 1, Incarnation: "a"}},
		{Scope: web, Data: events.ServiceRevised{Revision: 1, Spec: events.Spec{Image: "a"}}},
		{Scope: web, Data: events.ServiceScaled{Scale: 2}},
		{Scope: web, Data: events.InstancePlaced{Ordinal: 0, Generation: 1, Revision: 1, Node: "edge"}},
		{Scope: web, Data: events.InstancePlaced{Ordinal: 1, Generation: 1, Revision: 1, Node: "other"}},
		{Scope: web, Data: events.InstanceOnline{InstanceSeen: seen}},
		{Scope: edge, Data: events.StrayFound{Namespace: "demo", Name: "ghost", Generation: 7}},
	} {
		if err := c.Apply(events.Record{Event: e, Sequence: uint64(sequence) + 1}); err != nil {
			t.Fatal(err)
		}
	}
	body, err := actual(c, "edge")
	if err != nil {
		t.Fatal(err)
	}
	got := body
	want := `{"node":"edge","epoch":1,"silent":false,"instances":[{"instance":"demo/web.0.1","revision":1,"shall":"run","phase":"online",` +
		`"attempt":0}],"unexpected":["demo/ghost.0.7"],"log_sequence":0}`
	if string(got) != want {
		t.Errorf("it is told as\n%s, want\n%s", got, want)
	}
}
