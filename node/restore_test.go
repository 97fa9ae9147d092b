package node_test

import (
	"maps"
	"reflect"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

func TestVolumesThatAreToBeFilled(t *testing.T) {
	data := events.Export{Volume: "data", Digest: "d1"}
	plan := node.Plan{
		Owner: node.Owner{Cluster: "c", Node: "n"}, Instance: events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "kv"}, Ordinal: 2},
		Order: events.Order{Spec: &events.Spec{}, Restore: &events.Restore{Resumed: 7, Volumes: []events.Export{
			data, {Volume: "tmp", Digest: "d2"}, {Volume: "gone", Digest: "d3"},
		}}},
	}
	plan.Order.Spec.Volumes = []events.Volume{
		{Kind: events.VolumeNamed, Name: "cache", Path: "/cache"},
		{Kind: events.VolumeNamed, Name: "data", Path: "/data"},
		{Kind: events.VolumeTmpfs, Name: "tmp", Path: "/tmp"},
	}
	fill := node.Fill{Export: data, Resumed: 7, Volume: "rookery.c.demo.kv.2.data", Path: "/data"}
	if got := plan.Fills(); !reflect.DeepEqual(got, []node.Fill{fill}) {
		t.Fatalf("to be filled are %+v, want %+v", got, fill)
	}
	labels := fill.Labels(plan, "m")
	with := func(name, value string) map[string]string {
		other := maps.Clone(labels)
		other[name] = value
		return other
	}
	for name, tt := range map[string]struct {
		labels map[string]string
		marked bool
		due    bool
	}{
		"none is there":              {nil, false, true},
		"one of before":              {plan.VolumeLabels(), false, true},
		"filled":                     {labels, false, false},
		"filled in part":             {labels, true, true},
		"because of another":         {with(node.LabelResumed, "6"), false, true},
		"with what another log kept": {with(node.LabelContent, "d4"), false, true},
	} {
		if got := fill.Due(tt.labels, tt.marked); got != tt.due {
			t.Errorf("%s: it is to be filled: %v, want %v", name, got, tt.due)
		}
	}
	plan.Order.Restore = nil
	if got := plan.Fills(); got != nil {
		t.Errorf("nothing is to be restored, and %+v is to be filled", got)
	}
}
