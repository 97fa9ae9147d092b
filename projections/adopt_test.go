package projections_test

import (
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// TestAnAdoptedInstanceIsNotAnOrphan folds a log of an earlier version, which adopted an instance that it had found to be an orphan.
func TestAnAdoptedInstanceIsNotAnOrphan(t *testing.T) {
	c := projections.NewCluster()
	sequence := uint64(0)
	apply := func(scope events.Scope, data events.Data) {
		t.Helper()
		sequence++
		if err := c.Apply(events.Record{Event: events.Event{Scope: scope, Data: data}, Sequence: sequence, Time: at}); err != nil {
			t.Fatal(err)
		}
	}
	const generation = 2
	id := events.InstanceID{Service: web, Generation: generation}
	apply(events.ServiceScope(web), revised(1))
	apply(events.ServiceScope(web), events.ServiceScaled{Scale: 1})
	apply(events.NodeScope("n"), events.NodeJoined{Epoch: 1, Incarnation: "one"})
	apply(events.NodeScope("n"), events.StrayFound{Namespace: web.Namespace, Name: web.Name, Generation: generation, Why: events.StrayNewerGeneration})
	if len(c.Nodes["n"].Orphans) != 1 {
		t.Fatalf("the orphans are %v", c.Nodes["n"].Orphans)
	}
	apply(events.ServiceScope(web), events.InstanceAdopted{InstancePlaced: placed(0, generation, 0).(events.InstancePlaced)})
	if i := c.Instance(id); i == nil || i.Node != "n" || len(c.Nodes["n"].Orphans) > 0 {
		t.Errorf("the instance is %+v, and the orphans are %v", i, c.Nodes["n"].Orphans)
	}
}
