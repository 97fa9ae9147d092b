package coordinator_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
)

// TestAServiceThatIsGoneIsToBlameForItsQueue has what waits for a service that is no more be impossible to begin: nobody
// remembers who asked for it.
func TestAServiceThatIsGoneIsToBlameForItsQueue(t *testing.T) {
	h := newHouse(t)
	h.joins(1, 4)
	h.say("before", "ensure", `{"image":"a"}`)
	gone := events.ServiceID{Namespace: "demo", Name: "gone"}
	h.cluster.Queues[gone] = []events.CommandQueued{{Sequence: 1000, Verb: "drop", Body: jsontext.Value(`{}`)}}
	turn := coordinator.NewTurn(h.cluster, coordinator.NewAgenda(h.cluster), h.now)
	defer func() {
		if recover() == nil || turn.Working.Scope != events.ServiceScope(gone) {
			t.Errorf("looking failed at %v, and should have failed at %v", turn.Working, gone)
		}
	}()
	turn.Look()
}
