package views_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// TestAServiceIsShownInTheStateThatFits applies events to a service and checks the state in its view after each.
func TestAServiceIsShownInTheStateThatFits(t *testing.T) {
	c, web, sequence := projections.NewCluster(), events.ServiceID{Namespace: "demo", Name: "web"}, uint64(0)
	placed := func(ordinal, generation uint32) events.Data {
		return events.InstancePlaced{Ordinal: ordinal, Generation: generation, Revision: 1, Node: "n"}
	}
	seen := func(ordinal, generation uint32, phase events.Phase) events.InstanceSeen {
		return events.InstanceSeen{Ordinal: ordinal, Generation: generation, Node: "n", Position: events.Position{Epoch: 1, Phase: phase}}
	}
	online := func(ordinal uint32) events.Data {
		return events.InstanceOnline{InstanceSeen: seen(ordinal, 1, events.PhaseOnline)}
	}
	spec := events.Spec{Image: "localhost/web:1"}
	for _, step := range []struct {
		state string
		of    []events.Data
	}{
		{"idle", []events.Data{events.ServiceRevised{Revision: 1, Spec: spec, Hash: spec.Hash()}}},
		{"starting", []events.Data{events.ServiceScaled{Scale: 2}}},
		{"pending", []events.Data{placed(0, 1), events.InstancePending{Ordinal: 1, Nodes: 1}}},
		{"starting", []events.Data{placed(1, 1), online(0)}},
		{"running", []events.Data{online(1)}},
		{"stopping", []events.Data{events.ServiceScaled{Scale: 1}, events.InstanceRetired{Ordinal: 1, Generation: 1, Reason: events.RetireScaledDown}}},
		{"running", []events.Data{events.InstanceRemoved{InstanceSeen: seen(1, 1, events.PhaseRemoved)}}},
		{"scaling", []events.Data{
			events.CommandAccepted{CommandIdentity: events.CommandIdentity{Sequence: 7, Verb: "scale"}}, events.ServiceScaled{Scale: 2}, placed(1, 2),
		}},
		{"snapshotting", []events.Data{
			events.CommandSucceeded{Sequence: 7}, events.OperationStarted{Operation: events.OperationSnapshot, Revision: 1, Slots: events.Ordinals{0, 1}},
		}},
		{"paused", []events.Data{events.OperationPaused{Message: "no"}}},
		{"dropping", []events.Data{events.ServiceDropped{}}},
	} {
		for _, data := range step.of {
			sequence++
			if err := c.Apply(events.Record{Event: events.Event{Scope: events.ServiceScope(web), Data: data}, Sequence: sequence, Time: time.Unix(1, 0)}); err != nil {
				t.Fatal(err)
			}
		}
		var v views.Service
		if err := json.Unmarshal(views.All(c).Values[views.Key{Bucket: bus.BucketServices, Key: "demo.web"}], &v); err != nil {
			t.Fatal(err)
		}
		if v.State != step.state {
			t.Errorf("at %d the state is %s, want %s", sequence, v.State, step.state)
		}
	}
}

// TestAServiceIsShownInTheStateOfItsOperation starts each kind of operation on a service.
func TestAServiceIsShownInTheStateOfItsOperation(t *testing.T) {
	for kind, want := range map[events.OperationKind]string{
		events.OperationUpdate: "updating", events.OperationRestart: "restarting", events.OperationRollback: "rolling-back",
		events.OperationRescale: "scaling", events.OperationSnapshot: "snapshotting", events.OperationSuspend: "suspending",
	} {
		c, web, sequence := projections.NewCluster(), events.ServiceID{Namespace: "demo", Name: "web"}, uint64(0)
		started := events.OperationStarted{Operation: kind, Revision: 1, Slots: events.Ordinals{0}}
		if kind == events.OperationRescale {
			started.Rescale = &events.Rescale{From: 1, To: 2}
		}
		spec := events.Spec{Image: "localhost/web:1"}
		for _, data := range []events.Data{
			events.ServiceRevised{Revision: 1, Spec: spec, Hash: spec.Hash()}, events.ServiceScaled{Scale: 1}, started,
		} {
			sequence++
			if err := c.Apply(events.Record{Event: events.Event{Scope: events.ServiceScope(web), Data: data}, Sequence: sequence, Time: time.Unix(1, 0)}); err != nil {
				t.Fatal(err)
			}
		}
		var v views.Service
		if err := json.Unmarshal(views.All(c).Values[views.Key{Bucket: bus.BucketServices, Key: "demo.web"}], &v); err != nil {
			t.Fatal(err)
		}
		if v.State != want {
			t.Errorf("with a %s the state is %s, want %s", kind, v.State, want)
		}
	}
}

// TestAJobIsShownInTheStateThatFits follows a job with a schedule through a run.
func TestAJobIsShownInTheStateThatFits(t *testing.T) {
	c, batch, sequence := projections.NewCluster(), events.ServiceID{Namespace: "demo", Name: "batch"}, uint64(0)
	seen := func(generation uint32, phase events.Phase) events.InstanceSeen {
		return events.InstanceSeen{Generation: generation, Node: "n", Position: events.Position{Epoch: 1, Phase: phase}}
	}
	spec := events.Spec{Image: "localhost/web:1", Mode: events.ModeJob, JobSpec: events.JobSpec{Job: &events.Job{Schedule: "@daily"}}}
	for _, step := range []struct {
		state, slot string
		data        []events.Data
	}{
		{"scheduled", "pending", []events.Data{events.ServiceRevised{Revision: 1, Spec: spec, Hash: spec.Hash()}, events.ServiceScaled{Scale: 1}}},
		{"working", "pending", []events.Data{events.ServiceFired{Run: 1, Scheduled: time.Unix(1, 0)}}},
		{"working", "offline", []events.Data{events.InstancePlaced{Generation: 1, Revision: 1, Run: 1, Node: "n"}}},
		{"completed", "completed", []events.Data{
			events.InstanceCompleted{InstanceSeen: seen(1, events.PhaseCompleted)},
			events.InstanceRetired{Generation: 1, Reason: events.RetireCompleted},
			events.InstanceRemoved{InstanceSeen: seen(1, events.PhaseRemoved)},
		}},
	} {
		for _, data := range step.data {
			sequence++
			if err := c.Apply(events.Record{Event: events.Event{Scope: events.ServiceScope(batch), Data: data}, Sequence: sequence, Time: time.Unix(1, 0)}); err != nil {
				t.Fatal(err)
			}
		}
		var v views.Service
		if err := json.Unmarshal(views.All(c).Values[views.Key{Bucket: bus.BucketServices, Key: "demo.batch"}], &v); err != nil {
			t.Fatal(err)
		}
		if v.State != step.state {
			t.Errorf("at %d the state is %s, want %s", sequence, v.State, step.state)
		}
		var slot views.Instance
		if err := json.Unmarshal(views.All(c).Values[views.Key{Bucket: bus.BucketInstances, Key: "demo.batch.0"}], &slot); err != nil {
			t.Fatal(err)
		}
		if slot.Status != step.slot {
			t.Errorf("at %d the slot is %s, want %s", sequence, slot.Status, step.slot)
		}
	}
}
