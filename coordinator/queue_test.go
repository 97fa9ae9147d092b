package coordinator_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
)

// TestAServiceThatIsGoneIsToBlameForItsQueue lets a command wait for a removed service, so that beginning it must fail: the
// cluster no longer knows the command that was sent.
func TestAServiceThatIsGoneIsToBlameForItsQueue(t *testing.T) {
	h := newHouse(t)
	h.joins(1, 4)
	h.say("before", "ensure", `{"image":"a"}`)
	gone := events.ServiceID{Namespace: "demo", Name: "gone"}
	h.cluster.Queues[gone] = []events.CommandQueued{{Sequence: 1000, Verb: "drop", Body: jsontext.Value(`{}`)}}
	turn := coordinator.NewTurn(h.cluster, coordinator.NewWorkQueue(h.cluster), h.now)
	defer func() {
		if recover() == nil || turn.Working.Scope != events.ServiceScope(gone) {
			t.Errorf("Look failed at unit %v, want %v", turn.Working, gone)
		}
	}()
	turn.Look()
}
