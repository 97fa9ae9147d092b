package projections_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// TestAnOperationSaysWhyASlotIsNotDone applies, one at a time, the events that keep the slot of an update from being done.
func TestAnOperationSaysWhyASlotIsNotDone(t *testing.T) {
	second := events.Spec{Image: "localhost/web:2"}
	seen := func(generation uint32, phase events.Phase) events.InstanceSeen {
		return events.InstanceSeen{Generation: generation, Node: "n", Position: events.Position{Epoch: 1, Phase: phase}}
	}
	prepared := events.InstancePrepared{InstanceSeen: seen(2, events.PhasePrepared)}
	offline := seen(2, events.PhaseOffline)
	offline.Reason, offline.Message = events.OfflineImagePull, "no such image"
	retired := events.InstanceRetired{Generation: 1, Reason: events.RetireRevised}
	next := events.InstancePlaced{Generation: 2, Revision: 2, Node: "n"}
	node, web := events.NodeScope("n"), events.ServiceScope(web)
	for name, row := range map[string]struct {
		phase  events.OperationPhase
		events []events.Event
		says   string
	}{
		"its predecessor still runs":    {events.OperationStart, nil, "no node has had room for another beside demo/web.0.1"},
		"its predecessor stops":         {events.OperationRetire, []events.Event{{Scope: web, Data: retired}}, "demo/web.0.1 has not stopped yet"},
		"its predecessor stays":         {events.OperationRetire, nil, "no node has had room for the successor of demo/web.0.1"},
		"it is new":                     {events.OperationStart, []events.Event{{Scope: web, Data: retired}, {Scope: web, Data: next}}, "it is placed"},
		"it is prepared":                {events.OperationStart, []events.Event{{Scope: web, Data: retired}, {Scope: web, Data: next}, {Scope: web, Data: prepared}}, "it is prepared"},
		"it is offline":                 {events.OperationStart, []events.Event{{Scope: web, Data: retired}, {Scope: web, Data: next}, {Scope: web, Data: events.InstanceOffline{InstanceSeen: offline}}}, "it is offline (image-pull) no such image"},
		"its node is silent":            {events.OperationStart, []events.Event{{Scope: web, Data: retired}, {Scope: web, Data: next}, {Scope: node, Data: events.NodeSilent{}}}, "its node is silent"},
		"its node is lost":              {events.OperationStart, []events.Event{{Scope: web, Data: retired}, {Scope: web, Data: next}, {Scope: node, Data: events.NodeSilent{}}, {Scope: node, Data: events.NodeLost{}}}, "its node is lost"},
		"the engine of its node is bad": {events.OperationStart, []events.Event{{Scope: web, Data: retired}, {Scope: web, Data: next}, {Scope: node, Data: events.NodeDegraded{Message: "it hangs"}}}, "its node is degraded: it hangs"},
	} {
		t.Run(name, func(t *testing.T) {
			c, sequence := projections.NewCluster(), uint64(0)
			apply := func(scope events.Scope, data events.Data) {
				t.Helper()
				sequence++
				if err := c.Apply(events.Record{Event: events.Event{Scope: scope, Data: data}, Sequence: sequence, Time: at}); err != nil {
					t.Fatal(err)
				}
			}
			apply(node, events.NodeJoined{Epoch: 1})
			apply(web, revised(1))
			apply(web, events.ServiceScaled{Scale: 1})
			apply(web, events.InstancePlaced{Generation: 1, Revision: 1, Node: "n"})
			apply(web, events.ServiceRevised{Revision: 2, Spec: second, Hash: second.Hash()})
			apply(web, events.OperationStarted{Operation: events.OperationUpdate, Revision: 2, Slots: events.Ordinals{0}})
			apply(web, events.OperationEntered{Phase: row.phase, Slots: events.Ordinals{0}})
			for _, e := range row.events {
				apply(e.Scope, e.Data)
			}
			id, _ := web.Service()
			s := c.Services[id]
			waits := c.Waits(s, c.Verdict(s, at.Add(time.Second)), 10)
			if len(waits) != 1 {
				t.Fatalf("the operation waits for %d slots, want 1", len(waits))
			}
			_, said, _ := strings.Cut(waits[0].Missing, ": ")
			if said != row.says {
				t.Errorf("it says %q, want %q", waits[0].Missing, row.says)
			}
		})
	}
}

// TestANodeSaysWhyItTakesNothing lets an operation wait for a node in each state in which it is not ready.
func TestANodeSaysWhyItTakesNothing(t *testing.T) {
	for want, data := range map[string]events.Data{
		"silent": events.NodeSilent{}, "degraded": events.NodeDegraded{Message: "it hangs"}, "paused": events.NodePaused{},
		"drained": events.NodeDraining{Until: at}, "not on the list of allowed nodes": events.NodesAllowed{Allowed: []string{"other"}},
	} {
		c, sequence := projections.NewCluster(), uint64(0)
		apply := func(scope events.Scope, data events.Data) {
			t.Helper()
			sequence++
			if err := c.Apply(events.Record{Event: events.Event{Scope: scope, Data: data}, Sequence: sequence, Time: at}); err != nil {
				t.Fatal(err)
			}
		}
		node, scope := events.NodeScope("n"), events.ServiceScope(web)
		apply(node, events.NodeJoined{Epoch: 1})
		apply(scope, revised(1))
		apply(scope, events.ServiceScaled{Scale: 1})
		apply(scope, events.InstancePlaced{Generation: 1, Revision: 1, Node: "n"})
		apply(scope, events.ServiceRevised{Revision: 2, Spec: events.Spec{Image: "b"}, Hash: "b"})
		apply(scope, events.OperationStarted{Operation: events.OperationUpdate, Revision: 2, Slots: events.Ordinals{0}})
		apply(scope, events.OperationEntered{Phase: events.OperationWait})
		of := node
		if _, all := data.(events.NodesAllowed); all {
			of = events.ClusterScope
		}
		apply(of, data)
		s := c.Services[web]
		waits := c.Waits(s, c.Verdict(s, at), 10)
		if len(waits) != 1 || waits[0].Missing != "it is bound to its node, which is "+want {
			t.Errorf("after %T it waits for %+v, want a node that is %s", data, waits, want)
		}
	}
}

// TestAnOperationSaysHowManyWavesItHas starts an update of five slots, with and without canaries, and a rescale.
func TestAnOperationSaysHowManyWavesItHas(t *testing.T) {
	for name, row := range map[string]struct {
		update  events.Update
		kind    events.OperationKind
		entered events.OperationEntered
		waves   uint32
	}{
		"one by one":        {events.Update{}, events.OperationUpdate, events.OperationEntered{Wave: 1, Phase: events.OperationStart, Slots: events.Ordinals{0}}, 5},
		"two by two":        {events.Update{Parallelism: 2}, events.OperationUpdate, events.OperationEntered{Wave: 1, Phase: events.OperationStart, Slots: events.Ordinals{0, 1}}, 3},
		"a canary is first": {events.Update{Parallelism: 2, Canaries: 1}, events.OperationUpdate, events.OperationEntered{Wave: 1, Phase: events.OperationStart, Slots: events.Ordinals{0}}, 3},
		"none has begun":    {events.Update{Parallelism: 2, Canaries: 1}, events.OperationUpdate, events.OperationEntered{Phase: events.OperationWait}, 3},
		"all together":      {events.Update{}, events.OperationRescale, events.OperationEntered{Wave: 1, Phase: events.OperationPrepare, Slots: events.Ordinals{0, 1, 2, 3, 4}}, 1},
	} {
		c, sequence := projections.NewCluster(), uint64(0)
		spec := events.Spec{Image: "localhost/web:2", UpdateSpec: events.UpdateSpec{Update: &row.update}}
		started := events.OperationStarted{Operation: row.kind, Revision: 2, Slots: events.Ordinals{0, 1, 2, 3, 4}}
		if row.kind == events.OperationRescale {
			started.Rescale = &events.Rescale{From: 4, To: 5}
		}
		for _, data := range []events.Data{
			revised(1), events.ServiceScaled{Scale: 5}, events.ServiceRevised{Revision: 2, Spec: spec, Hash: spec.Hash()}, started, row.entered,
		} {
			sequence++
			if err := c.Apply(events.Record{Event: events.Event{Scope: events.ServiceScope(web), Data: data}, Sequence: sequence, Time: at}); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.Services[web].Waves(); got != row.waves {
			t.Errorf("%s: it has %d waves, want %d", name, got, row.waves)
		}
	}
}
