package snapshots

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/coordinator/runner/recorded"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/projections"
)

// take takes a snapshot at the end of every so many rounds, and returns what begins folds with them.
func take(r *recorded.Log, apart int, log *slog.Logger) Folds {
	r.Helper()
	folds := NewFolds(r.Bus, log, DefaultEvery, nil)
	k := &Keeper{folds: folds, log: slog.New(slog.DiscardHandler), every: None}
	for i := apart; i < len(r.Rounds); i += apart {
		if _, closed := recorded.Closing(r.Messages[r.Rounds[i]-1]); !closed {
			continue // a round that was voided has no snapshot
		}
		if err := k.take(r.Context(), place{r.ID, r.Rounds[i]}); err != nil {
			r.Fatal(err)
		}
	}
	return folds
}

// TestSnapshotsThatAreWrongArePassedOver spoils the last snapshots in every way that a store may, and begins all the same.
func TestSnapshotsThatAreWrongArePassedOver(t *testing.T) {
	for name, spoil := range map[string]func(r *recorded.Log, whole []byte) []byte{
		"damaged": func(_ *recorded.Log, whole []byte) []byte {
			spoiled := slices.Clone(whole)
			spoiled[len(spoiled)*2/3] ^= 1
			return spoiled
		},
		"in part": func(_ *recorded.Log, whole []byte) []byte { return whole[:len(whole)/2] },
		"of another log": func(r *recorded.Log, whole []byte) []byte {
			return bytes.Replace(whole, []byte(`"log":"`+r.ID), []byte(`"log":"another`), 1)
		},
		"of an earlier place": func(r *recorded.Log, _ []byte) []byte { return kept(r, r.Rounds[10]) },
	} {
		t.Run(name, func(t *testing.T) {
			r := recorded.Read(t, "v1.json")
			var said bytes.Buffer
			folds := take(r, len(r.Rounds)/4, slog.New(slog.NewTextHandler(&said, nil)))
			sequences, err := folds.list(t.Context(), r.ID)
			if err != nil || len(sequences) < 2 {
				t.Fatal(sequences, err)
			}
			spoiled := spoil(r, kept(r, sequences[0]))
			objects := r.Bus.Objects(bus.ObjectsFolds)
			if err := objects.Put(t.Context(), foldName(r.ID, sequences[0]), bytes.NewReader(spoiled)); err != nil {
				t.Fatal(err)
			}
			fold, reader, err := folds.Begin(t.Context(), uint64(len(r.Messages)))
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Stop()
			k := &Keeper{folds: folds, log: folds.log}
			k.remove(t.Context(), place{r.ID, sequences[1]})
			k.remove(t.Context(), <-folds.spoiled)
			if left, err := folds.list(t.Context(), r.ID); err != nil || !slices.Equal(left, sequences[1:]) {
				t.Errorf("of %v there are left %v, %v", sequences, left, err)
			}
			if name == "of an earlier place" && fold.Cluster.Sequence == sequences[0] {
				t.Error("a snapshot of an earlier place is taken for that of a later one")
			}
			if err := To(t.Context(), fold, reader, uint64(len(r.Messages))); err != nil {
				t.Fatal(err)
			}
			if last := r.Rounds[len(r.Rounds)-1]; fold.Cluster.Hash() != r.HashAt(last) {
				t.Error("the fold is another state")
			}
			if !strings.Contains(said.String(), "skipping a snapshot") {
				t.Errorf("nothing is said of it: %s", &said)
			}
		})
	}
}

// kept returns what is kept of the end of a round, or would be.
func kept(r *recorded.Log, at uint64) []byte {
	r.Helper()
	content, err := r.Bus.Objects(bus.ObjectsFolds).Get(context.Background(), foldName(r.ID, at))
	if err == nil {
		body, err := io.ReadAll(content)
		if err != nil {
			r.Fatal(err)
		}
		return body
	}
	snapshot, err := projections.SnapshotOf(r.State(at), nil)
	if err != nil {
		r.Fatal(err)
	}
	var body bytes.Buffer
	if err := snapshot.Write(&body); err != nil {
		r.Fatal(err)
	}
	return body.Bytes()
}

// TestASnapshotOfALogThatWasLongerIsPassedOver restores an older log, which then goes on otherwise.
func TestASnapshotOfALogThatWasLongerIsPassedOver(t *testing.T) {
	r := recorded.Read(t, "v1.json")
	folds := take(r, len(r.Rounds)/4, slog.New(slog.DiscardHandler))
	middle := r.Rounds[len(r.Rounds)/2]
	r.Bus.Restore(bus.Log, memory.NewBackup(r.ID, r.Messages[:middle]))
	fold, reader, err := folds.Begin(t.Context(), ^uint64(0))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Stop()
	if at := fold.Cluster.Sequence; at == 0 || at > middle {
		t.Errorf("the fold begins at %d, and the log ends at %d", at, middle)
	}
}

// TestSnapshotsThatAreTooManyGoAllOverTheLog takes one after the other, and holds what is left to lie all over the log.
func TestSnapshotsThatAreTooManyGoAllOverTheLog(t *testing.T) {
	const every, count, keep = 100, 500, 16
	var kept []uint64
	for i := uint64(1); i <= count; i++ {
		kept = append(kept, i*every)
		for _, gone := range Surplus(kept, keep) {
			kept = slices.DeleteFunc(kept, func(s uint64) bool { return s == gone })
		}
		if len(kept) != min(int(i), keep) {
			t.Fatalf("after %d there are %d", i, len(kept))
		}
		for n := range min(keptLast, len(kept)) {
			if want := (i - uint64(n)) * every; kept[len(kept)-1-n] != want {
				t.Fatalf("after %d the last ones are %v", i, kept)
			}
		}
	}
	widest := kept[0]
	for i := 1; i < len(kept); i++ {
		widest = max(widest, kept[i]-kept[i-1])
	}
	const even = every * count / (keep - keptLast)
	if widest > 2*even+every {
		t.Errorf("the widest gap of %v is %d, and even ones were %d", kept, widest, even)
	}
}
