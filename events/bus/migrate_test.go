package bus_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/rookery-project/rookery/events/bus"
)

// TestAnOlderBusSaysWhatToMigrate makes streams as an older Rookery, and as an operator, and changes them back.
func TestAnOlderBusSaysWhatToMigrate(t *testing.T) {
	b := open(t)
	if all, err := b.Migrations(within(t), 0); err != nil || len(all) > 0 {
		t.Errorf("a new bus is to be changed: %v, %v", all, err)
	}
	for _, tt := range []struct {
		schema  string
		refused error
	}{{"0", nil}, {"1", bus.ErrSettings}} {
		handle, err := api(t, b).Stream(within(t), string(bus.Commands))
		if err != nil {
			t.Fatal(err)
		}
		c := handle.CachedInfo().Config
		c.MaxBytes, c.Metadata["rookery.schema"], c.Metadata["of.the.operator"] = 1<<20, tt.schema, "kept"
		if _, err := api(t, b).UpdateStream(within(t), c); err != nil {
			t.Fatal(err)
		}
		findings, err := b.Check(within(t))
		if err != nil {
			t.Fatal(err)
		}
		found := findings[slices.Index(bus.Streams, bus.Commands)]
		if len(found.Differences) == 0 || !errors.Is(found.Err(), tt.refused) {
			t.Errorf("schema %s: it is found as %+v: %v", tt.schema, found, found.Err())
		}
		all, err := b.Migrations(within(t), 0)
		if err != nil || len(all) != 1 || !slices.Equal(all[0].Changes, found.Differences) {
			t.Fatalf("schema %s: the plan is %+v, %v", tt.schema, all, err)
		}
		if err := b.Migrate(within(t), all[0], func(uint64) {}); err != nil {
			t.Fatal(err)
		}
		handle, err = api(t, b).Stream(within(t), string(bus.Commands))
		if err != nil || handle.CachedInfo().Config.MaxBytes != bus.MaxCommandsBytes || handle.CachedInfo().Config.Metadata["of.the.operator"] != "kept" {
			t.Errorf("schema %s: it is kept as %+v, %v", tt.schema, handle.CachedInfo().Config, err)
		}
		if again, err := b.Migrations(within(t), 0); err != nil || len(again) > 0 {
			t.Errorf("schema %s: after the migration there is more to change: %+v, %v", tt.schema, again, err)
		}
	}
}
