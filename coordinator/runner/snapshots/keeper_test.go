package snapshots

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/coordinator/runner/recorded"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// failing is a bus whose store takes this many objects, then fails.
type failing struct {
	bus.Bus
	room *int
}

type failingObjects struct {
	bus.Objects
	room *int
}

func (f failing) Objects(name string) bus.Objects { return failingObjects{f.Bus.Objects(name), f.room} }

var errNoMore = errors.New("the store is full")

func (f failingObjects) Put(ctx context.Context, name string, content io.Reader) error {
	if *f.room == 0 {
		return errNoMore
	}
	*f.room--
	return f.Objects.Put(ctx, name, content)
}

// TestALongFoldLeavesSnapshotsOnItsWay folds a log that has no snapshots, is interrupted, and goes on from where it was.
func TestALongFoldLeavesSnapshotsOnItsWay(t *testing.T) {
	r := recorded.Read(t, "v1.json")
	end := r.Rounds[len(r.Rounds)-1]
	room := 3
	k := &Keeper{folds: Folds{bus: failing{r.Bus, &room}, log: slog.New(slog.DiscardHandler)}, log: slog.New(slog.DiscardHandler), every: 20}
	if err := k.take(t.Context(), place{r.ID, end}); !errors.Is(err, errNoMore) {
		t.Fatalf("a full store: got error %v", err)
	}
	first, err := k.folds.list(t.Context(), r.ID)
	if err != nil || len(first) != 3 {
		t.Fatalf("there are %v, %v", first, err)
	}
	room = keptFolds
	if err := k.take(t.Context(), place{r.ID, end}); err != nil {
		t.Fatal(err)
	}
	all, err := k.folds.list(t.Context(), r.ID)
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
		fold, reader, err := k.folds.Begin(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		reader.Stop()
		if fold.Cluster.Sequence != at || fold.Cluster.Hash() != r.HashAt(at) {
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
	r := recorded.Read(t, "v1.json")
	fold, every := projections.NewFold(), uint64(1)
	if recorded.Racing {
		every = 19
	}
	for _, m := range r.Messages {
		want, err := fold.Take(m)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil || fold.Cluster.Round%every != 0 {
			continue
		}
		if got, err := LastRound(t.Context(), r.Bus, m.Sequence); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("the round that ends at %d is %v, want %v: %v", m.Sequence, got, want, err)
		}
	}
}

// unordered is a bus whose store lists its objects last first, and keeps the names of those that are deleted.
type unordered struct {
	bus.Bus
	deleted *[]string
}

type unorderedObjects struct {
	bus.Objects
	deleted *[]string
}

func (u unordered) Objects(name string) bus.Objects {
	return unorderedObjects{u.Bus.Objects(name), u.deleted}
}

func (o unorderedObjects) All(ctx context.Context) ([]bus.Object, error) {
	all, err := o.Objects.All(ctx)
	slices.SortFunc(all, func(a, b bus.Object) int { return strings.Compare(b.Name, a.Name) })
	return all, err
}

func (o unorderedObjects) Delete(ctx context.Context, name string) error {
	*o.deleted = append(*o.deleted, name)
	return o.Objects.Delete(ctx, name)
}

// TestSnapshotsAreDeletedInOrder cuts a log below several snapshots: the same store in another order leads to the same calls.
func TestSnapshotsAreDeletedInOrder(t *testing.T) {
	r := recorded.Read(t, "v1.json")
	take(r, len(r.Rounds)/8, slog.New(slog.DiscardHandler))
	r.Cut(r.Rounds[len(r.Rounds)/2])
	var deleted []string
	k := &Keeper{folds: NewFolds(unordered{r.Bus, &deleted}, slog.New(slog.DiscardHandler), None, nil), log: slog.New(slog.DiscardHandler), every: 1}
	if err := k.take(t.Context(), place{r.ID, r.Rounds[len(r.Rounds)/2]}); err != nil {
		t.Fatal(err)
	}
	if len(deleted) < 2 || !slices.IsSorted(deleted) {
		t.Errorf("snapshots are deleted as %v, want two or more in order", deleted)
	}
}
