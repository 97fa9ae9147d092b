package operation

import (
	"fmt"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// TestAWaveGoesThroughThePhasesOfItsSpec holds the phases of the first wave of two to what the spec says of updates.
func TestAWaveGoesThroughThePhasesOfItsSpec(t *testing.T) {
	const watched = events.Duration(time.Minute)
	for _, row := range []struct {
		name   string
		kind   events.OperationKind
		update events.Update
		want   string
	}{
		{"by default", events.OperationUpdate, events.Update{}, "[start retire]"},
		{"stop first", events.OperationRestart, events.Update{Order: events.StopFirst}, "[retire start]"},
		{"watched", events.OperationUpdate, events.Update{Monitor: watched}, "[start retire monitor]"},
		{"stop first, watched", events.OperationUpdate, events.Update{Order: events.StopFirst, Monitor: watched}, "[retire start monitor]"},
		{"all at once", events.OperationUpdate, events.Update{Strategy: events.UpdateRecreate}, "[retire start]"},
		{"behind a barrier", events.OperationUpdate, events.Update{Strategy: events.UpdateBarrier}, "[prepare start retire]"},
		{"behind a barrier, watched", events.OperationUpdate, events.Update{Strategy: events.UpdateBarrier, Monitor: watched}, "[prepare start monitor retire]"},
		{"canaries", events.OperationUpdate, events.Update{Canaries: 1}, "[start retire promote]"},
		{"canaries that go on by themselves", events.OperationUpdate, events.Update{Canaries: 1, Promote: events.PromoteBySelf}, "[start retire]"},
		{"canaries on the way back", events.OperationRollback, events.Update{Canaries: 1}, "[start retire]"},
		{"with time between waves", events.OperationUpdate, events.Update{Delay: watched}, "[start retire delay]"},
		{"a topology", events.OperationRescale, events.Update{Delay: watched}, "[prepare start release acquire retire]"},
		{"a snapshot", events.OperationSnapshot, events.Update{Monitor: watched}, "[hold export]"},
		{"a rest, with nothing to keep", events.OperationSuspend, events.Update{}, "[retire]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &projections.Service{
				Revision:  1,
				Revisions: map[uint64]*projections.Revision{1: {Spec: events.Spec{UpdateSpec: events.UpdateSpec{Update: &row.update}}}},
				Operation: &projections.Operation{Kind: row.kind, Wave: 1, Slots: events.Ordinals{0}, Waiting: events.Ordinals{1}},
			}
			c := Case{Service: s}
			if got := fmt.Sprint(c.kind().phases(c)); got != row.want {
				t.Errorf("it goes through %s, want %s", got, row.want)
			}
		})
	}
}
