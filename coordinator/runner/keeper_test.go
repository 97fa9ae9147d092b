package runner

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// failing is a bus whose store takes so many objects and no more.
type failing struct {
	bus.Bus
	room *int
}

type failingObjects struct {
	bus.Objects
	room *int
}

func (f failing) Objects(name string) bus.Objects { return failingObjects{f.Bus.Objects(name), f.room} }

var errNoMore = errors.New("no more")

func (f failingObjects) Put(ctx context.Context, name string, content io.Reader) error {
	if *f.room == 0 {
		return errNoMore
	}
	*f.room--
	return f.Objects.Put(ctx, name, content)
}

// TestALongFoldLeavesSnapshotsOnItsWay folds a log that has no snapshots, is interrupted, and goes on from where it was.
func TestALongFoldLeavesSnapshotsOnItsWay(t *testing.T) {
	r := read(t, "v1.json")
	end := r.rounds[len(r.rounds)-1]
	room := 3
	k := &keeper{folds: folds{bus: failing{r.bus, &room}, log: slog.New(slog.DiscardHandler)}, log: slog.New(slog.DiscardHandler), every: 20}
	if err := k.take(t.Context(), closedRound{r.id, end}); !errors.Is(err, errNoMore) {
		t.Fatalf("the store takes no more: %v", err)
	}
	first, err := k.folds.list(t.Context(), r.id)
	if err != nil || len(first) != 3 {
		t.Fatalf("there are %v, %v", first, err)
	}
	room = keptFolds
	if err := k.take(t.Context(), closedRound{r.id, end}); err != nil {
		t.Fatal(err)
	}
	all, err := k.folds.list(t.Context(), r.id)
	if err != nil || all[0] != end || !slices.Equal(all[len(all)-3:], first) {
		t.Fatalf("after %v there are %v, %v", first, all, err)
	}
	apart := end / (keptFolds - keptLast)
	for i, at := range append(all, 0)[1:] {
		if gap := all[i] - at; gap > 2*apart {
			t.Errorf("between two of %v are %d messages, want about %d", all, gap, apart)
		}
	}
	for _, at := range all {
		fold, reader, err := k.folds.begin(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		reader.Stop()
		if fold.Cluster.Sequence != at || fold.Cluster.Hash() != r.hashAt(at) {
			t.Errorf("the snapshot at %d gives the state of %d", at, fold.Cluster.Sequence)
		}
	}
}

// TestSnapshotsAreBoundInNumberAndBytes counts what goes.
func TestSnapshotsAreBoundInNumberAndBytes(t *testing.T) {
	const half = keptFoldsBytes / 2
	for _, tt := range []struct {
		sizes map[uint64]int64
		gone  []uint64
	}{
		{map[uint64]int64{1: 1, 2: 1}, nil},
		{map[uint64]int64{1: half, 2: half}, nil},
		{map[uint64]int64{1: half, 2: half, 3: 1}, []uint64{1}},
		{map[uint64]int64{1: 1, 2: half, 3: half + 1}, []uint64{1, 2}},
		{map[uint64]int64{1: 2 * keptFoldsBytes}, nil},
	} {
		if gone := TooMany(tt.sizes); !slices.Equal(gone, tt.gone) {
			t.Errorf("of %v go %v, want %v", tt.sizes, gone, tt.gone)
		}
	}
}

// TestTheLastRoundIsReadBack reads each round of a log by its end.
func TestTheLastRoundIsReadBack(t *testing.T) {
	r := read(t, "v1.json")
	fold, c, every := projections.NewFold(), r.coordinator(), uint64(1)
	if Racing {
		every = 19
	}
	for _, m := range r.log {
		want, err := fold.Take(m)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil || fold.Cluster.Round%every != 0 {
			continue
		}
		if got, err := lastRound(t.Context(), c.Bus, m.Sequence); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("the round that ends at %d is %v, want %v: %v", m.Sequence, got, want, err)
		}
	}
}

// TestAStartFromASnapshotRepeatsFates leads a log at whose end a snapshot stands: what its last round said of commands is said again, as by
// a start from the first message.
func TestAStartFromASnapshotRepeatsFates(t *testing.T) {
	whole := read(t, "v1.json")
	fold, end := projections.NewFold(), uint64(0)
	for _, m := range whole.log {
		records, err := fold.Take(m)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(records, func(r events.Record) bool { _, fate := r.Data.(events.Fate); return fate }) && fold.Cluster.Round > 20 {
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
		"from the first message":                {NoSnapshots, false},
		"from the first message, behind a void": {NoSnapshots, true},
	} {
		t.Run(name, func(t *testing.T) {
			every := row.every
			r := read(t, "v1.json")
			r.cut(end)
			k := &keeper{folds: r.coordinator().folds(), log: slog.New(slog.DiscardHandler), every: every}
			if err := k.take(t.Context(), closedRound{r.id, end}); err != nil {
				t.Fatal(err)
			}
			told, err := r.bus.Subscribe(events.EventRoot + ".command.>")
			if err != nil {
				t.Fatal(err)
			}
			defer told.Stop()
			c := r.coordinator()
			c.SnapshotEvery = every
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
				if _, err := r.bus.Publish(t.Context(), events.Message{Subject: events.LogRoot + ".strange", Body: []byte("hi")}); err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(f.catchUp(t.Context()), c.closeTorn(t.Context(), f, c.cluster.Epoch+1)); err != nil {
					t.Fatal(err)
				}
			}
			l := &leader{Coordinator: c, ctx: t.Context(), closed: f.fold.Last()}
			if err := l.repeatFates(f); err != nil {
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
