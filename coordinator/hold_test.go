package coordinator_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
)

// say sends a command to a service, and lets everything run as the coordinator decides.
func (h *house) say(name, verb, body string) {
	h.input++
	h.now = h.now.Add(time.Second)
	subject := events.CommandSubject(events.ServiceID{Namespace: "demo", Name: name}, verb)
	r := events.ParseRequest(events.Message{Subject: subject, Sequence: h.input, Body: []byte(body), Header: events.Header{}})
	h.round(func(turn *coordinator.Turn) { turn.Command(r) })
	h.settle()
}

// joins adds nodes, each with this much memory.
func (h *house) joins(nodes, gib int) {
	for i := range nodes {
		h.statusOf(events.Status{Node: fmt.Sprintf("n%d", i), Hello: &events.Hello{Incarnation: "a", NodeFacts: events.NodeFacts{
			Address: "10.0.0.1", EngineFacts: events.EngineFacts{Engine: "test"}, Ports: events.PortRange{First: 20_000, Last: 20_999},
			Capacity: events.Capacity{Memory: uint64(gib) << 30},
		}}})
	}
}

func (h *house) filled(name string) bool {
	return h.cluster.Services[events.ServiceID{Namespace: "demo", Name: name}].Filled() > 0
}

// TestALargeServiceThatWaitsIsPlacedAtLastWhileSmallOnesComeWithoutEnd creates small services faster than they end, so that
// they ask at once for all memory that becomes free. Each ends after a while.
func TestALargeServiceThatWaitsIsPlacedAtLastWhileSmallOnesComeWithoutEnd(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := newHouse(t)
		nodes, gib := rapid.IntRange(1, 3).Draw(r, "nodes"), rapid.IntRange(4, 8).Draw(r, "gib")
		h.joins(nodes, gib)
		var all []string
		small := func() {
			all = append(all, fmt.Sprintf("small%d", len(all)))
			h.say(all[len(all)-1], "ensure", fmt.Sprintf(`{"image":"a","requests":{"memory":"%dMiB"}}`, rapid.IntRange(600, 2000).Draw(r, "MiB")))
		}
		for len(all) == 0 || h.filled(all[len(all)-1]) {
			small()
		}
		h.say("large", "ensure", fmt.Sprintf(`{"image":"a","requests":{"memory":"%dGiB"}}`, rapid.IntRange(gib/2+1, gib).Draw(r, "large")))
		for next, left := 0, 10*len(all); !h.filled("large"); next++ {
			if next > left {
				r.Fatalf("the large service still waits, although %d small ones have ended since: %s", next, h.cluster.WhyPending(h.cluster.Held().Service))
			}
			small()
			small()
			h.say(all[next], "drop", `{}`)
		}
	})
}
