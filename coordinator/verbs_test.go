package coordinator

import (
	"maps"
	"slices"
	"testing"

	"github.com/rookery-project/rookery/events"
)

func TestEachVerbOfAServiceHasAnEntry(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(verbs)), slices.Sorted(slices.Values(events.Verbs)); !slices.Equal(got, want) {
		t.Errorf("entries are for %q, want %q", got, want)
	}
}
