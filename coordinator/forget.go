package coordinator

import (
	"maps"
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// forget removes a node that is gone for good.
func (t *Turn) forget(r events.Request, n *projections.Node, _ events.NodeForget) error {
	if n.Live() {
		return events.Reject(events.CodeHeard, "subject",
			"node %s sends heartbeats, and runs its instances: drain it, stop its process, and forget it once it is shown as silent", n.Name)
	}
	t.overtake(r, n)
	t.accepted(r, []events.Data{events.NodeForgotten{}})
	return nil
}

// forgetNodes removes the instances of forgotten nodes from the state, and then the nodes.
func (t *Turn) forgetNodes() {
	var nodes []*projections.Node
	for _, name := range slices.Sorted(maps.Keys(t.Cluster.Nodes)) {
		if n := t.Cluster.Nodes[name]; n.Forgotten {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return
	}
	left := t.instancesOn(nodes)
	for _, n := range nodes {
		if !t.atNode(events.WorkReconcile, n.Name) {
			continue
		}
		t.cause = events.Cause{}
		if n.Holder != 0 {
			t.cause = t.Cluster.Commands[n.Holder].Cause
		}
		t.forgetNode(n, left[n.Name])
	}
}

func (t *Turn) forgetNode(n *projections.Node, left []*projections.Instance) {
	scope := events.NodeScope(n.Name)
	waits := false
	for _, i := range left {
		if t.mayLive(n, i) {
			waits = true
			continue
		}
		t.emit(events.ServiceScope(i.ID.Service), events.InstanceForgotten{
			Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Node: n.Name, Reason: events.NodeNoLongerExists,
		})
	}
	for _, id := range slices.SortedFunc(maps.Keys(n.Orphans), events.InstanceID.Compare) {
		t.emit(scope, events.StrayForgotten{StrayFound: events.StrayFound{
			Namespace: id.Service.Namespace, Name: id.Service.Name, Ordinal: id.Ordinal, Generation: id.Generation, Why: n.Orphans[id].Why,
		}})
	}
	if !waits {
		t.emit(scope, append([]events.Data{events.NodeRemoved{Epoch: n.Epoch}}, success(n.Holder)...)...)
	}
}
