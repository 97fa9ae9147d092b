package api

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/coordinator/runner/recorded"
	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// asked returns a server whose bus has the log, and what it says while it answers.
func asked(r *recorded.Log) (*Server, *bytes.Buffer) {
	said := new(bytes.Buffer)
	log := slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return New(Config{Bus: r.Bus, Name: "test", Now: time.Now, Folds: snapshots.NewFolds(r.Bus, log, snapshots.DefaultEvery, nil)}), said
}

// snapshotsOf puts a snapshot at the end of every so many rounds.
func snapshotsOf(r *recorded.Log, apart int) {
	r.Helper()
	for i := apart; i < len(r.Rounds); i += apart {
		if _, closed := recorded.Closing(r.Messages[r.Rounds[i]-1]); !closed {
			continue // a round that was voided has no snapshot
		}
		if err := snapshots.Put(r.Context(), r.Bus, r.State(r.Rounds[i]), nil); err != nil {
			r.Fatal(err)
		}
	}
}

// snapshotsAtOnce is how many the tests put all over a log.
const snapshotsAtOnce = 64

// stride is how many places of a log lie between two that are asked for: one, and more where tests are to be short or are watched.
func stride() uint64 {
	if testing.Short() || recorded.Racing {
		return 97
	}
	return 1
}

// TestTheStateAtEverySequenceIsTheFoldToIt asks for the state at every place in the recorded logs.
func TestTheStateAtEverySequenceIsTheFoldToIt(t *testing.T) {
	recorded.Each(t, func(r *recorded.Log) {
		snapshotsOf(r, len(r.Rounds)/snapshotsAtOnce+1)
		c, said := asked(r)
		for at := uint64(1); at <= uint64(len(r.Messages)); at += stride() {
			body, err := c.askState(r.Context(), fmt.Appendf(nil, `{"at_seq":%d}`, at))
			want := r.ClosedBy(at)
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
			hash := r.HashAt(want)
			if past.Sequence != want || past.Hash != hash {
				r.Fatalf("at %d the answer is of %d with hash %s, and the fold of %d has %s", at, past.Sequence, past.Hash, want, hash)
			}
			shows := len(past.Views[bus.BucketServices]) == past.Services && len(past.Views[bus.BucketNodes]) == past.Nodes
			if !shows {
				r.Fatalf("at %d there are %d services and %d nodes, and the views show %v", at, past.Services, past.Nodes, past.Views)
			}
		}
		if !strings.Contains(said.String(), "from a snapshot") {
			r.Error("no answer began with a snapshot")
		}
	})
}

// TestTheStateAtATimeIsThatOfTheLastRoundByThen asks for times on, before and behind the ends of rounds.
func TestTheStateAtATimeIsThatOfTheLastRoundByThen(t *testing.T) {
	r := recorded.Read(t, "v1.json")
	c, _ := asked(r)
	for i := 20; i+1 < len(r.Rounds); i += 25 {
		this, _ := recorded.Closing(r.Messages[r.Rounds[i]-1])
		after, _ := recorded.Closing(r.Messages[r.Rounds[i+1]-1])
		if !after.Now.After(this.Now) {
			continue
		}
		for _, at := range []time.Time{this.Now, after.Now.Add(-time.Nanosecond)} {
			body, err := c.askState(t.Context(), fmt.Appendf(nil, `{"at_time":%q}`, at.Format(time.RFC3339Nano)))
			var past PastState
			if err := errors.Join(err, json.Unmarshal(body, &past)); err != nil {
				t.Fatal(err)
			}
			if past.Sequence != r.Rounds[i] {
				t.Errorf("at %s the answer is of %d, want %d", at, past.Sequence, r.Rounds[i])
			}
		}
	}
}

// TestDiffsAddUp asks what changed between places in the recorded logs: what leads from one to the next, and from there on, leads from
// the first to the last.
func TestDiffsAddUp(t *testing.T) {
	recorded.Each(t, func(r *recorded.Log) {
		snapshotsOf(r, len(r.Rounds)/snapshotsAtOnce+1)
		c, _ := asked(r)
		changes := func(from, to uint64) []views.Change {
			body, err := c.askDiff(r.Context(), fmt.Appendf(nil, `{"from":%d,"to":%d}`, from, to))
			var d Diff
			if err := errors.Join(err, json.Unmarshal(body, &d)); err != nil {
				r.Fatalf("from %d to %d: %v", from, to, err)
			}
			return d.Changes
		}
		apart := uint64(len(r.Messages) / 12)
		if recorded.Racing {
			apart *= 3
		}
		first, seen := r.Rounds[0], 0
		for from := first; from+2*apart <= uint64(len(r.Messages)); from += apart {
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

func TestAPastStateHasThePolicy(t *testing.T) {
	c := projections.NewCluster()
	c.Policy.Profile = events.OptimizeUtilization
	past, err := PastOf(c, "", "", "")
	var policy events.Policy
	if err := errors.Join(err, json.Unmarshal(past.Views[PolicyKey.Bucket][PolicyKey.Key], &policy)); err != nil {
		t.Fatal(err)
	}
	if policy != c.Policy.WithDefaults() {
		t.Errorf("the state has the policy %+v, want %+v", policy, c.Policy.WithDefaults())
	}
}
