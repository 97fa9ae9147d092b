package runner_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/coordinator/runner"
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

// slowLog is a bus that takes long to store a round.
type slowLog struct{ bus.Bus }

// Append implements bus.Bus.
func (s slowLog) Append(ctx context.Context, stream bus.Stream, after uint64, messages []events.Message) (uint64, error) {
	select {
	case <-time.After(time.Second):
		return s.Bus.Append(ctx, stream, after, messages)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// TestALongRoundDelaysNoHeartbeat sends heartbeats while each round takes a second.
func TestALongRoundDelaysNoHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		told := subscribed(t, b, events.EventRoot+".node.n0.>")
		stop := start(t, slowLog{b}, "first")
		defer stop()
		hello(t, b)
		until(t, told, "n0.joined")
		synctest.Wait()
		const beats, every = 60, time.Second
		for range beats {
			publish(t, b, events.CommandSubject(web, "ensure"), webSpec)
			sent := time.Now()
			beat(t, b, "n0")
			if took := time.Since(sent); took > 0 {
				t.Fatalf("a heartbeat was answered after %s", took)
			}
			<-time.After(every)
		}
	})
}

// TestANodeThatIsFoundSilentGetsNoAnswer sends a heartbeat between the look that finds its node silent and the end of that round. An answer would
// let the node run its exclusive instances for longer than the leader waits. Then the node is back.
func TestANodeThatIsFoundSilentGetsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		told := subscribed(t, b, events.EventRoot+".node.n0.>")
		appends := &heldLog{Bus: b, hold: make(chan struct{})}
		stop := start(t, appends, "first")
		defer stop()
		hello(t, b)
		until(t, told, "n0.joined")
		beat(t, b, "n0")
		const before, after = 500 * time.Millisecond, 1500 * time.Millisecond // the leader looks once a second
		<-time.After(3*runner.DefaultHeartbeat - before)
		appends.holds.Store(true)
		<-time.After(before + after)
		if err := tryBeat(t, b, "n0", "i"); !errors.Is(err, bus.ErrNoAnswer) {
			t.Errorf("while a round is stored that calls its node silent, a heartbeat got %v", err)
		}
		appends.holds.Store(false)
		close(appends.hold)
		until(t, told, "n0.silent")
		until(t, told, "n0.returned")
		synctest.Wait()
		beat(t, b, "n0")
	})
}

// TestAProcessThatIsNotKnownIsAnsweredAtOnce lets a process join while a round is stored: it must not hold up the heartbeats of the others.
func TestAProcessThatIsNotKnownIsAnsweredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		told := subscribed(t, b, events.EventRoot+".node.n0.>")
		appends := &heldLog{Bus: b, hold: make(chan struct{})}
		stop := start(t, appends, "first")
		defer stop()
		hello(t, b)
		until(t, told, "n0.joined")
		synctest.Wait()
		appends.holds.Store(true)
		join(t, b, "n1")
		synctest.Wait()
		sent := time.Now()
		for _, node := range []string{"n1", "n0"} {
			beat(t, b, node)
		}
		if took := time.Since(sent); took > 0 {
			t.Errorf("they were answered after %s", took)
		}
		close(appends.hold)
	})
}

// heldLog is a bus that stores nothing while it holds.
type heldLog struct {
	bus.Bus
	holds atomic.Bool
	hold  chan struct{}
}

// Append implements bus.Bus.
func (h *heldLog) Append(ctx context.Context, stream bus.Stream, after uint64, messages []events.Message) (uint64, error) {
	if h.holds.Load() {
		select {
		case <-h.hold:
		case <-ctx.Done():
			return 0, errors.Join(bus.ErrUnknown, ctx.Err())
		}
	}
	return h.Bus.Append(ctx, stream, after, messages)
}
