package runner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
)

// TestAnotherProcessDoesNotKeepANodeAlive has a process that is not the node send heartbeats under its name.
func TestAnotherProcessDoesNotKeepANodeAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		told, err := b.Subscribe(events.EventRoot + ".node.n0.>")
		if err != nil {
			t.Fatal(err)
		}
		defer told.Stop()
		stop := start(t, b, "first")
		defer stop()
		hello(t, b)
		until(t, told, "n0.joined")
		const beats, every = 60, time.Second
		for range beats {
			beatAs(t, b, "n0", "another")
			select {
			case m := <-told.Messages():
				if m.Subject == "rookery.event.node.n0.silent" {
					return
				}
			case <-time.After(every):
			}
		}
		t.Errorf("after %d heartbeats of another process the node is not silent", beats)
	})
}

// slowOrders is a bus that takes long to read what orders stand.
type slowOrders struct{ bus.Bus }

// Latest implements bus.Bus.
func (s slowOrders) Latest(ctx context.Context, stream bus.Stream, filter string) ([]events.Message, error) {
	select {
	case <-time.After(4 * time.Second):
		return s.Bus.Latest(ctx, stream, filter)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestAFailoverMayTakeLongerThanALeaseLasts slows down a coordinator so that its failover takes twice as long as a lease, while another one
// waits for the lease. The first one leads in the end, and is the only one that has tried.
func TestAFailoverMayTakeLongerThanALeaseLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		told, err := b.Subscribe(events.EventRoot + ".round")
		if err != nil {
			t.Fatal(err)
		}
		defer told.Stop()
		first := start(t, slowOrders{b}, "first")
		defer first()
		synctest.Wait()
		second := start(t, slowOrders{b}, "second")
		defer second()
		closed, _, err := events.DecodeAs[events.RoundClosed](next(t, told))
		if err != nil || closed.Leader != "first" || closed.Epoch != 1 {
			t.Errorf("the first round is %+v, %v", closed, err)
		}
	})
}
