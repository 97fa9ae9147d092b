package projections_test

import (
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// TestAHoldEndsWithWhatWasSaidOfItsService lets services wait, and applies one event each to see whether the hold for one of them ends.
func TestAHoldEndsWithWhatWasSaidOfItsService(t *testing.T) {
	large, other := events.ServiceID{Namespace: "demo", Name: "large"}, events.ServiceID{Namespace: "demo", Name: "other"}
	waits := func(node string) events.Data {
		return events.InstancePending{Nodes: 1, Removed: events.Removed{Memory: 1}, Holds: node}
	}
	for what, step := range map[string]struct {
		id   events.ServiceID
		data events.Data
		want string // the service and its node
	}{
		"nothing":                   {other, waits(""), "demo/large n0"},
		"another node":              {large, waits("n1"), "demo/large n1"},
		"none any more":             {large, waits(""), " "},
		"one for an older service":  {other, waits("n1"), "demo/other n1"},
		"a node for the instance":   {large, placed(0, 1, 1), " "},
		"another scale":             {large, events.ServiceScaled{}, " "},
		"another spec":              {large, revised(2), " "},
		"its end":                   {large, events.ServiceDropped{}, " "},
		"its removal":               {large, events.ServiceRemoved{}, " "},
		"the end of another":        {other, events.ServiceDropped{}, "demo/large n0"},
		"the removal of another":    {other, events.ServiceRemoved{}, "demo/large n0"},
		"a scale that lacks it too": {large, events.ServiceScaled{Scale: 3}, "demo/large n0"},
	} {
		t.Run(what, func(t *testing.T) {
			c := projections.NewCluster()
			apply := func(id events.ServiceID, data events.Data) {
				t.Helper()
				if err := c.Apply(events.Record{Event: events.Event{Scope: events.ServiceScope(id), Data: data}, Time: time.Unix(1, 0)}); err != nil {
					t.Fatal(err)
				}
			}
			for _, id := range []events.ServiceID{large, other} {
				apply(id, revised(1))
				apply(id, events.ServiceScaled{Scale: 1})
				apply(id, waits(""))
			}
			apply(large, waits("n0"))
			apply(step.id, step.data)
			name := ""
			if s := c.Held().Service; s != nil {
				name = s.ID.String()
			}
			if got := name + " " + c.Held().Node; got != step.want {
				t.Errorf("after %s %q is held, want %q", what, got, step.want)
			}
		})
	}
}

func TestASlotIsFreshUntilItHasAnInstanceAndOnceItIsScaledAway(t *testing.T) {
	c := projections.NewCluster()
	apply := func(data ...events.Data) *projections.Service {
		t.Helper()
		for _, d := range data {
			if err := c.Apply(events.Record{Event: events.Event{Scope: events.ServiceScope(web), Data: d}, Time: at}); err != nil {
				t.Fatal(err)
			}
		}
		return c.Services[web]
	}
	failed := events.InstanceRetired{Ordinal: 1, Generation: 1, Reason: events.RetirePortConflict}
	if s := apply(revised(1), events.ServiceScaled{Scale: 2}, placed(1, 1, 1)); !s.Fresh(0) || s.Fresh(1) || !s.Fresh(2) {
		t.Error("a slot must be fresh until it has an instance, and not after")
	}
	if s := apply(failed); s.Fresh(1) {
		t.Error("the slot of a failed instance must not be fresh: the next instance replaces that one")
	}
	if s := apply(events.ServiceScaled{Scale: 1}, events.ServiceScaled{Scale: 2}); !s.Fresh(1) {
		t.Error("a slot that a scale-up brings back must be fresh")
	}
	gone := events.InstanceRetired{Ordinal: 1, Generation: 2, Reason: events.RetireScaledDown}
	if s := apply(placed(1, 2, 2), gone); !s.Fresh(1) {
		t.Error("a slot whose instance is scaled down must be fresh")
	}
}
