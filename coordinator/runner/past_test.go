package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/events/golden"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// recorded is a log with all kinds of operations, on a bus of its own.
type recorded struct {
	*testing.T
	bus  *memory.Bus
	id   string
	log  []events.Message
	said bytes.Buffer
	// fold is at the end of some round, hash that of its state once it was asked for, and rounds are the ends of all of them in order.
	fold   *projections.Fold
	hash   string
	rounds []uint64
}

func eachRecorded(t *testing.T, each func(*recorded)) {
	t.Helper()
	for _, name := range golden.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(read(t, name))
		})
	}
}

func read(t *testing.T, name string) *recorded {
	t.Helper()
	log, err := golden.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorded{T: t, bus: memory.New(time.Now), log: log, fold: projections.NewFold()}
	for _, m := range log {
		r.take(m)
		if r.fold.Cluster.Sequence == m.Sequence {
			r.rounds = append(r.rounds, m.Sequence)
		}
	}
	r.id = r.fold.Cluster.LogID()
	r.bus.Restore(bus.Log, memory.NewBackup(r.id, r.log))
	return r
}

func (r *recorded) take(m events.Message) {
	r.Helper()
	if _, err := r.fold.Take(m); err != nil {
		r.Fatal(err)
	}
}

// hashAt returns the hash of the state at the end of the round that ends at this place. It is asked for in order, mostly: else it folds
// from the first message.
func (r *recorded) hashAt(sequence uint64) string {
	r.Helper()
	if r.fold.Cluster.Sequence > sequence {
		r.fold, r.hash = projections.NewFold(), ""
	}
	if r.fold.Cluster.Sequence < sequence {
		r.hash = ""
	}
	for _, m := range r.log[r.fold.Cluster.Sequence:sequence] {
		r.take(m)
	}
	if r.hash == "" {
		r.hash = r.fold.Cluster.Hash()
	}
	return r.hash
}

func (r *recorded) coordinator() *Coordinator {
	return New(Config{Bus: r.bus, Name: "test", Log: slog.New(slog.NewTextHandler(&r.said, &slog.HandlerOptions{Level: slog.LevelDebug}))})
}

// cut lets the log end at a place.
func (r *recorded) cut(end uint64) {
	r.log = r.log[:end]
	r.bus.Restore(bus.Log, memory.NewBackup(r.id, r.log))
}

// snapshots takes one at the end of every so many rounds.
func (r *recorded) snapshots(apart int) {
	r.Helper()
	k := &keeper{folds: r.coordinator().folds(), log: slog.New(slog.DiscardHandler), every: NoSnapshots}
	for i := apart; i < len(r.rounds); i += apart {
		if _, closed := closing(r.log[r.rounds[i]-1]); !closed {
			continue // a round that was voided has no snapshot
		}
		if err := k.take(r.Context(), closedRound{r.id, r.rounds[i]}); err != nil {
			r.Fatal(err)
		}
	}
}

func closing(m events.Message) (events.RoundClosed, bool) {
	d, _, err := events.DecodeAs[events.RoundClosed](m)
	return d, err == nil
}

// closedBy returns the end of the last round at or below a place; 0 for none.
func (r *recorded) closedBy(at uint64) uint64 {
	i, found := slices.BinarySearch(r.rounds, at)
	switch {
	case found:
		return at
	case i == 0:
		return 0
	}
	return r.rounds[i-1]
}

// stride is how many places of a log lie between two that are asked for: one, and more where tests are to be short or are watched.
func stride() uint64 {
	if testing.Short() || Racing {
		return 97
	}
	return 1
}

// TestTheStateAtEverySequenceIsTheFoldToIt asks for the state at every place in the recorded logs.
func TestTheStateAtEverySequenceIsTheFoldToIt(t *testing.T) {
	eachRecorded(t, func(r *recorded) {
		r.snapshots(len(r.rounds)/keptFolds + 1)
		c := r.coordinator()
		for at := uint64(1); at <= uint64(len(r.log)); at += stride() {
			body, err := c.askState(r.Context(), fmt.Appendf(nil, `{"at_seq":%d}`, at))
			want := r.closedBy(at)
			if want == 0 {
				if bus.CodeOf(err) != 404 {
					r.Fatalf("at %d, where no round is closed: %v", at, err)
				}
				continue
			}
			var past PastState
			if err := errors.Join(err, json.Unmarshal(body, &past)); err != nil {
				r.Fatalf("at %d: %v", at, err)
			}
			hash := r.hashAt(want)
			if past.Sequence != want || past.Hash != hash {
				r.Fatalf("at %d the answer is of %d with hash %s, and the fold of %d has %s", at, past.Sequence, past.Hash, want, hash)
			}
			shows := len(past.Views[bus.BucketServices]) == past.Services && len(past.Views[bus.BucketNodes]) == past.Nodes
			if !shows {
				r.Fatalf("at %d there are %d services and %d nodes, and the views show %v", at, past.Services, past.Nodes, past.Views)
			}
		}
		if !strings.Contains(r.said.String(), "from a snapshot") {
			r.Error("no answer began with a snapshot")
		}
	})
}

// TestTheStateAtATimeIsThatOfTheLastRoundByThen asks for times on, before and behind the ends of rounds.
func TestTheStateAtATimeIsThatOfTheLastRoundByThen(t *testing.T) {
	r := read(t, "v1.json")
	c := r.coordinator()
	for i := 20; i+1 < len(r.rounds); i += 25 {
		this, _ := closing(r.log[r.rounds[i]-1])
		after, _ := closing(r.log[r.rounds[i+1]-1])
		if !after.Now.After(this.Now) {
			continue
		}
		for _, at := range []time.Time{this.Now, after.Now.Add(-time.Nanosecond)} {
			body, err := c.askState(t.Context(), fmt.Appendf(nil, `{"at_time":%q}`, at.Format(time.RFC3339Nano)))
			var past PastState
			if err := errors.Join(err, json.Unmarshal(body, &past)); err != nil {
				t.Fatal(err)
			}
			if past.Sequence != r.rounds[i] {
				t.Errorf("at %s the answer is of %d, want %d", at, past.Sequence, r.rounds[i])
			}
		}
	}
}

// TestDiffsAddUp asks what changed between places in the recorded logs: what leads from one to the next, and from there on, leads from
// the first to the last.
func TestDiffsAddUp(t *testing.T) {
	eachRecorded(t, func(r *recorded) {
		r.snapshots(len(r.rounds)/keptFolds + 1)
		c := r.coordinator()
		changes := func(from, to uint64) []views.Change {
			body, err := c.askDiff(r.Context(), fmt.Appendf(nil, `{"from":%d,"to":%d}`, from, to))
			var d Diff
			if err := errors.Join(err, json.Unmarshal(body, &d)); err != nil {
				r.Fatalf("from %d to %d: %v", from, to, err)
			}
			return d.Changes
		}
		apart := uint64(len(r.log) / 12)
		if Racing {
			apart *= 3
		}
		first, seen := r.rounds[0], 0
		for from := first; from+2*apart <= uint64(len(r.log)); from += apart {
			one, two := changes(from, from+apart), changes(from+apart, from+2*apart)
			whole := changes(from, from+2*apart)
			if joined := views.Together(one, two); !reflect.DeepEqual(joined, whole) && len(joined)+len(whole) > 0 {
				r.Fatalf("from %d over %d to %d: %v joined, want %v", from, from+apart, from+2*apart, joined, whole)
			}
			seen += len(whole)
		}
		if seen == 0 {
			r.Error("nothing has changed in the whole log")
		}
	})
}

// TestSnapshotsThatAreWrongArePassedOver spoils the last snapshots in every way that a store may, and begins all the same.
func TestSnapshotsThatAreWrongArePassedOver(t *testing.T) {
	for name, spoil := range map[string]func(r *recorded, whole []byte) []byte{
		"damaged": func(_ *recorded, whole []byte) []byte {
			spoiled := slices.Clone(whole)
			spoiled[len(spoiled)*2/3] ^= 1
			return spoiled
		},
		"in part": func(_ *recorded, whole []byte) []byte { return whole[:len(whole)/2] },
		"of another log": func(r *recorded, whole []byte) []byte {
			return bytes.Replace(whole, []byte(`"log":"`+r.id), []byte(`"log":"another`), 1)
		},
		"of an earlier place": func(r *recorded, _ []byte) []byte { return r.snapshot(r.rounds[10]) },
	} {
		t.Run(name, func(t *testing.T) {
			r := read(t, "v1.json")
			r.snapshots(len(r.rounds) / 4)
			sequences, err := r.coordinator().folds().list(t.Context(), r.id)
			if err != nil || len(sequences) < 2 {
				t.Fatal(sequences, err)
			}
			spoiled := spoil(r, r.snapshot(sequences[0]))
			objects := r.bus.Objects(bus.ObjectsFolds)
			if err := objects.Put(t.Context(), foldName(r.id, sequences[0]), bytes.NewReader(spoiled)); err != nil {
				t.Fatal(err)
			}
			c := r.coordinator()
			fold, reader, err := c.folds().begin(t.Context(), uint64(len(r.log)))
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Stop()
			k := &keeper{folds: c.folds(), log: c.Log}
			k.remove(t.Context(), closedRound{r.id, sequences[1]})
			k.remove(t.Context(), <-c.spoiled)
			if left, err := c.folds().list(t.Context(), r.id); err != nil || !slices.Equal(left, sequences[1:]) {
				t.Errorf("of %v there are left %v, %v", sequences, left, err)
			}
			if name == "of an earlier place" && fold.Cluster.Sequence == sequences[0] {
				t.Error("a snapshot of an earlier place is taken for that of a later one")
			}
			if err := to(t.Context(), fold, reader, uint64(len(r.log))); err != nil {
				t.Fatal(err)
			}
			if last := r.rounds[len(r.rounds)-1]; fold.Cluster.Hash() != r.hashAt(last) {
				t.Error("the fold is another state")
			}
			if !strings.Contains(r.said.String(), "passing over a snapshot") {
				t.Errorf("nothing is said of it: %s", &r.said)
			}
		})
	}
}

// snapshot returns what is kept of the end of a round, or would be.
func (r *recorded) snapshot(at uint64) []byte {
	r.Helper()
	content, err := r.bus.Objects(bus.ObjectsFolds).Get(context.Background(), foldName(r.id, at))
	if err == nil {
		body, err := io.ReadAll(content)
		if err != nil {
			r.Fatal(err)
		}
		return body
	}
	fold := projections.NewFold()
	for _, m := range r.log[:at] {
		if _, err := fold.Take(m); err != nil {
			r.Fatal(err)
		}
	}
	body, err := projections.EncodeFold(fold.Cluster)
	if err != nil {
		r.Fatal(err)
	}
	return body
}

// TestASnapshotOfALogThatWasLongerIsPassedOver restores an older log, which then goes on otherwise.
func TestASnapshotOfALogThatWasLongerIsPassedOver(t *testing.T) {
	r := read(t, "v1.json")
	r.snapshots(len(r.rounds) / 4)
	middle := r.rounds[len(r.rounds)/2]
	r.bus.Restore(bus.Log, memory.NewBackup(r.id, r.log[:middle]))
	fold, reader, err := r.coordinator().folds().begin(t.Context(), ^uint64(0))
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
