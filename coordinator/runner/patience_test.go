package runner_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// electing is a bus whose log and orders elect their leaders: some appends have no outcome.
type electing struct {
	bus.Bus
	stored bool // they are stored, and the answer is lost

	mu         sync.Mutex
	unanswered map[bus.Stream]int
}

func (e *electing) Append(ctx context.Context, stream bus.Stream, after uint64, messages []events.Message) (uint64, error) {
	e.mu.Lock()
	lost := e.unanswered[stream] > 0
	if lost {
		e.unanswered[stream]--
	}
	e.mu.Unlock()
	if !lost {
		return e.Bus.Append(ctx, stream, after, messages)
	}
	if e.stored {
		if _, err := e.Bus.Append(ctx, stream, after, messages); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("append to %s: %w", stream, bus.ErrUnknown)
}

// TestALeaderTriesAgainWhileStreamsElectTheirLeaders loses the outcomes of appends. The leader stores each round and each order once, and
// leads on in the same epoch.
func TestALeaderTriesAgainWhileStreamsElectTheirLeaders(t *testing.T) {
	for _, stored := range []bool{false, true} {
		t.Run(fmt.Sprintf("stored %t", stored), func(t *testing.T) {
			both(t, func(t *testing.T, b bus.Bus) {
				e := &electing{Bus: b, stored: stored}
				defer start(t, e, "first")()
				hello(t, b)
				told, err := b.Subscribe(events.OrderRoot + ".>")
				if err != nil {
					t.Fatal(err)
				}
				defer told.Stop()
				e.mu.Lock()
				e.unanswered = map[bus.Stream]int{bus.Log: 2, bus.Orders: 2}
				e.mu.Unlock()
				tell(t, b, "ensure", `{`+peered+`,"scale":1}`)
				for m := next(t, told); !strings.Contains(string(m.Body), `"run"`); {
					m = next(t, told)
				}
				m, ok, err := b.Last(t.Context(), bus.Log)
				if err != nil || !ok {
					t.Fatal(err)
				}
				r, err := events.ParseRecord(m)
				closed, is := r.Data.(events.RoundClosed)
				if err != nil || !is || closed.Epoch != 1 {
					t.Errorf("the log ends with %+v: %v", r.Data, err)
				}
			})
		})
	}
}
