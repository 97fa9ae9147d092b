package node_test

import (
	"reflect"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// TestAContainerIsKnownByItsLabels holds labels to say all that a node has to know again of what it made.
func TestAContainerIsKnownByItsLabels(t *testing.T) {
	plan := node.Plan{
		Owner:    node.Owner{Cluster: "c", Node: "n"},
		Instance: events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "kv"}, Ordinal: 2, Generation: 3},
		Order:    events.Order{Spec: &events.Spec{Labels: map[string]string{"team": "a"}}, Revision: 4, Hash: "h", Decided: 5},
		Attempt:  6, Role: node.RoleInit,
	}
	want := map[string]string{
		"team": "a", node.LabelCluster: "c", node.LabelNode: "n", node.LabelNamespace: "demo", node.LabelService: "kv", node.LabelOrdinal: "2",
		node.LabelGeneration: "3", node.LabelRevision: "4", node.LabelAttempt: "6", node.LabelHash: "h", node.LabelOrder: "5",
		node.LabelRole: string(node.RoleInit),
	}
	labels := plan.Labels()
	if !reflect.DeepEqual(labels, want) {
		t.Errorf("the labels are %v, want %v", labels, want)
	}
	c, err := node.ParseLabels(labels)
	if err != nil || c.Instance != plan.Instance || c.Role != node.RoleInit || c.Attempt != 6 || c.Revision != 4 {
		t.Errorf("they read as %+v, %v", c, err)
	}
	plan.Role = node.RoleMain
	if role, there := plan.Labels()[node.LabelRole]; there {
		t.Errorf("the main container has the role %q in its labels", role)
	}
	for _, name := range []string{
		node.LabelNamespace, node.LabelService, node.LabelOrdinal, node.LabelGeneration, node.LabelAttempt, node.LabelRevision,
	} {
		wrong := plan.Labels()
		wrong[name] = "-"
		if c, err := node.ParseLabels(wrong); err == nil {
			t.Errorf("with another label %s they read as %+v", name, c)
		}
	}
}

// TestAnOrderSaysWhichImagesNamesStandFor creates an instance from some images, then sends an order that names others.
func TestAnOrderSaysWhichImagesNamesStandFor(t *testing.T) {
	made := map[string]string{"web:1": "web@sha256:1", "proxy:1": "proxy@sha256:1"}
	c := container(node.Created, 0)
	c.Images = made
	v := ordered(events.ActionRun).Prepared(*c, start)
	if got := v.PlanImages(); !reflect.DeepEqual(got, made) {
		t.Errorf("without images in the order it is made from %v, want %v", got, made)
	}
	v.Order.Images = map[string]string{"web:1": "web@sha256:2"}
	want := map[string]string{"web:1": "web@sha256:2", "proxy:1": "proxy@sha256:1"}
	if got := v.PlanImages(); !reflect.DeepEqual(got, want) {
		t.Errorf("it is made from %v, want %v", got, want)
	}
	found := container(node.Running, 0)
	found.Images = map[string]string{"web:1": "web@sha256:3"}
	if got := v.Found(found, start, start).Images; got["web:1"] != "web@sha256:3" || got["proxy:1"] != "proxy@sha256:1" {
		t.Errorf("once the engine has said so it is made from %v", got)
	}
	if made["web:1"] != "web@sha256:1" {
		t.Error("what the engine said has changed")
	}
}
