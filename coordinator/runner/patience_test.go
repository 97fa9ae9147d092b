package runner_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
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

// unanswering is a bus on which the first calls that look at the commands, and that read them, time out. It counts the readers of the log.
type unanswering struct {
	bus.Bus
	looks, reads, readers atomic.Int64
}

// unanswered waits in vain for an answer.
func unanswered(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("%w: %w", bus.ErrNoAnswer, ctx.Err())
}

// State implements bus.Bus.
func (u *unanswering) State(ctx context.Context, stream bus.Stream) (bus.State, error) {
	if stream == bus.Commands && u.looks.Add(1) == 1 {
		return bus.State{}, unanswered(ctx)
	}
	return u.Bus.State(ctx, stream)
}

// Read implements bus.Bus.
func (u *unanswering) Read(ctx context.Context, stream bus.Stream, from uint64) (bus.Reader, error) {
	switch {
	case stream == bus.Commands && u.reads.Add(1) == 1:
		return nil, unanswered(ctx)
	case stream == bus.Log:
		u.readers.Add(1)
	}
	return u.Bus.Read(ctx, stream, from)
}

// TestAFailoverTriesAgainInPlace has two calls of a failover time out. The coordinator leads without reading the log again.
func TestAFailoverTriesAgainInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		told := subscribed(t, b, events.EventRoot+".round")
		u := &unanswering{Bus: b}
		defer start(t, u, "first")()
		next(t, told)
		synctest.Wait()
		if u.looks.Load() < 2 || u.reads.Load() < 2 || u.readers.Load() != 1 {
			t.Errorf("the commands were looked at %d times and read %d times, and the log %d times, want at least 2, 2 and once",
				u.looks.Load(), u.reads.Load(), u.readers.Load())
		}
	})
}
