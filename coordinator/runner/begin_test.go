package runner

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/rookery-project/rookery/coordinator/runner/recorded"
	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// TestALogThatAnotherHasGoneOnWithIsNotARestoredOne marks the orders with a round that the new leader has not folded. If the log has the
// round, another coordinator closed it meanwhile; otherwise the log was restored from an older backup.
func TestALogThatAnotherHasGoneOnWithIsNotARestoredOne(t *testing.T) {
	r := recorded.Read(t, "v1.json")
	fold := projections.NewFold()
	for _, m := range r.Messages[:r.Rounds[len(r.Rounds)-2]] {
		if _, err := fold.Take(m); err != nil {
			t.Fatal(err)
		}
	}
	c, last := fold.Cluster, r.Rounds[len(r.Rounds)-1]
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
		m, err := events.Encode(events.OrdersEpochSubject, events.OrdersEpoch{Log: r.ID, Epoch: tt.epoch, Closed: tt.closed},
			events.Attributes{ID: tt.name, Source: "/test", Time: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Bus.Publish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if err := checkOrdersMark(t.Context(), r.Bus, c, c.Epoch+1); !errors.Is(err, tt.want) {
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

// TestAStartFromASnapshotRepeatsFates leads a log at whose end a snapshot stands: what its last round said of commands is said again, as by
// a start from the first message.
func TestAStartFromASnapshotRepeatsFates(t *testing.T) {
	whole := recorded.Read(t, "v1.json")
	fold, end := projections.NewFold(), uint64(0)
	for _, m := range whole.Messages {
		records, err := fold.Take(m)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(records, func(r events.Record) bool { _, outcome := r.Data.(events.Outcome); return outcome }) && fold.Cluster.Round > 20 {
			end = m.Sequence
			break
		}
	}
	for name, row := range map[string]struct {
		every uint64
		torn  bool
	}{
		"from a snapshot":                       {20, false},
		"from a snapshot, behind a void":        {20, true},
		"from the first message":                {snapshots.None, false},
		"from the first message, behind a void": {snapshots.None, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := recorded.Read(t, "v1.json")
			r.Cut(end)
			if err := snapshots.Put(t.Context(), r.Bus, r.State(end), nil); err != nil {
				t.Fatal(err)
			}
			told, err := r.Bus.Subscribe(events.EventRoot + ".command.>")
			if err != nil {
				t.Fatal(err)
			}
			defer told.Stop()
			c := New(Config{Bus: r.Bus, Name: "test", Log: slog.New(slog.DiscardHandler), SnapshotEvery: row.every})
			f, err := c.follow(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer f.stop()
			if err := f.catchUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.cluster = f.fold.Cluster
			if row.torn {
				if _, err := r.Bus.Publish(t.Context(), events.Message{Subject: events.LogRoot + ".strange", Body: []byte("hi")}); err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(f.catchUp(t.Context()), c.closeTorn(t.Context(), f, c.cluster.Epoch+1)); err != nil {
					t.Fatal(err)
				}
			}
			l := &leader{Coordinator: c, ctx: t.Context(), closed: f.fold.Last()}
			if err := l.repeatOutcomes(f); err != nil {
				t.Fatal(err)
			}
			select {
			case <-told.Messages():
			case <-time.After(10 * time.Second):
				t.Error("nothing is said of the commands of the last round")
			}
		})
	}
}

// TestAFoldAheadOfARestoredLogIsNotUpToDate folds a log that is then restored to an earlier end, as a standby does before it leads.
func TestAFoldAheadOfARestoredLogIsNotUpToDate(t *testing.T) {
	r := recorded.Read(t, "v1.json")
	c := New(Config{Bus: r.Bus, Name: "test", Log: slog.New(slog.DiscardHandler), SnapshotEvery: snapshots.None})
	f, err := c.follow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer f.stop()
	if err := f.catchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Cut(r.Rounds[len(r.Rounds)/2])
	if err := f.catchUp(t.Context()); !errors.Is(err, bus.ErrReader) {
		t.Errorf("got error %v, want %v", err, bus.ErrReader)
	}
}
