package runner

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// TestALogThatAnotherHasGoneOnWithIsNotARestoredOne has orders follow a round that whoever takes over has not folded: where the log has it, somebody
// closed it meanwhile, and else the log was restored from an older backup.
func TestALogThatAnotherHasGoneOnWithIsNotARestoredOne(t *testing.T) {
	r := read(t, "v1.json")
	fold := projections.NewFold()
	for _, m := range r.log[:r.rounds[len(r.rounds)-2]] {
		if _, err := fold.Take(m); err != nil {
			t.Fatal(err)
		}
	}
	c, last := fold.Cluster, r.rounds[len(r.rounds)-1]
	for _, tt := range []struct {
		name   string
		closed uint64
		epoch  uint64
		want   error
	}{
		{"the last round that was folded", c.Sequence, c.Epoch, nil},
		{"a round of this epoch, by another", c.Sequence, c.Epoch + 2, errLost},
		{"a round that was closed meanwhile", last, c.Epoch, errLost},
		{"a round that the log does not have", last + 1, c.Epoch, ErrIdentity},
	} {
		m, err := events.Encode(events.OrdersEpochSubject, events.OrdersEpoch{Log: r.id, Epoch: tt.epoch, Closed: tt.closed},
			events.Attributes{ID: tt.name, Source: "/test", Time: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.bus.Publish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if err := checkOrdersMark(t.Context(), r.bus, c, c.Epoch+1); !errors.Is(err, tt.want) {
			t.Errorf("the orders follow %s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestALeaderThatIsToEndSendsNoOrders has the term end before the addresses of what is to stop are withdrawn: the next leader does both, in this
// order.
func TestALeaderThatIsToEndSendsNoOrders(t *testing.T) {
	b := memory.New(time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := New(Config{Bus: b, Name: "test", Log: slog.New(slog.DiscardHandler)})
	l := &leader{Coordinator: c, ctx: ctx, endpoints: views.Start(ctx, b, c.Log, []string{bus.BucketEndpoints}, views.Reached(projections.NewCluster()))}
	defer l.endpoints.Wait()
	if err := l.withdrawn(); !errors.Is(err, context.Canceled) {
		t.Errorf("it goes on to the orders: %v", err)
	}
}
