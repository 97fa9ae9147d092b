package projections_test

import (
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// TestRoundsLeaveOutWhatIsVoid reads a torn round with its void, and a closed round.
func TestRoundsLeaveOutWhatIsVoid(t *testing.T) {
	silent := events.Event{Scope: events.NodeScope("node-0"), Data: events.NodeSilent{}}
	ends := func(data events.Data) events.Event { return events.Event{Scope: events.RoundScope, Data: data} }
	var r projections.Rounds
	var shown []uint64
	for i, e := range []events.Event{silent, ends(events.RoundVoid{From: 1, To: 1, Epoch: 2}), silent, silent, ends(events.RoundClosed{Round: 1})} {
		m, err := events.Encode(e.Scope.LogSubject(e.Data.Kind()), e.Data, events.Attributes{Time: time.Unix(int64(i), 0)})
		if err != nil {
			t.Fatal(err)
		}
		m.Sequence = uint64(i + 1)
		closed, whole := r.Take(m)
		if whole != (i == 1 || i == 4) {
			t.Errorf("message %d: a round ends: %t", m.Sequence, whole)
		}
		for _, m := range closed {
			shown = append(shown, m.Sequence)
		}
	}
	if len(shown) != 3 || shown[0] != 3 {
		t.Errorf("the reader got %v, want 3 to 5", shown)
	}
}
