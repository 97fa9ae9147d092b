package runner_test

import (
	"testing"
	"time"

	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// TestNothingGoesThatASnapshotNames sweeps among objects of which one is of a kept snapshot, one of a snapshot that is taken, one of a slot
// that comes back from one which is not kept any more, and one too young.
func TestNothingGoesThatASnapshotNames(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	volumes := func(digest string) map[uint32][]events.Export {
		return map[uint32][]events.Export{3: {{Volume: "data", Digest: digest}}}
	}
	c := projections.NewCluster()
	c.Services[events.ServiceID{Namespace: "demo", Name: "db"}] = &projections.Service{
		Snapshots:  projections.Snapshots{Kept: []projections.Snapshot{{Volumes: volumes("kept")}}},
		Operation:  &projections.Operation{Exports: volumes("taken")},
		Resumption: &projections.Resumption{Slots: map[uint32]*projections.Refill{3: {Volumes: volumes("back")[3]}}},
	}
	objects := []bus.Object{
		{Name: "kept", Stored: now.Add(-9 * bus.SweptAfter)},
		{Name: "taken", Stored: now.Add(-9 * bus.SweptAfter)},
		{Name: "back", Stored: now.Add(-9 * bus.SweptAfter)},
		{Name: "young", Stored: now.Add(1 - bus.SweptAfter)},
		{Name: "newer", Stored: now.Add(-bus.SweptAfter)},
		{Name: "older", Stored: now.Add(-2 * bus.SweptAfter)},
	}
	got := runner.Unnamed(c, objects, now)
	if len(got) != 2 || got[0].Name != "older" || got[1].Name != "newer" {
		t.Errorf("swept are %v, want older and newer", got)
	}
}
