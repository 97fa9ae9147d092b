package ledger_test

import (
	"testing"
	"time"

	"github.com/rookery-project/rookery/deploy/examples/shardkv/ledger"
)

// op is an operation that was answered, by a slot under a config version, from one time to another.
func op(put bool, value string, version uint64, ordinal uint32, configVersion uint64, start, end time.Duration) ledger.Operation {
	return ledger.Operation{
		Key: "k", Put: put, Value: value, Answered: true, Version: version, Ordinal: ordinal, ConfigVersion: configVersion,
		Begin: start, Start: start, End: end,
	}
}

func put(value string, version uint64, ordinal uint32, configVersion uint64, start, end time.Duration) ledger.Operation {
	return op(true, value, version, ordinal, configVersion, start, end)
}

func get(value string, version uint64, ordinal uint32, configVersion uint64, start, end time.Duration) ledger.Operation {
	return op(false, value, version, ordinal, configVersion, start, end)
}

func unanswered(value string, begin, end time.Duration) ledger.Operation {
	return ledger.Operation{Key: "k", Put: true, Value: value, Begin: begin, Start: begin, End: end, Failure: "503"}
}

// counts are those of a report that break a promise.
type counts struct{ lost, stale, wrong, doubles int }

// shown is what books show, each with what was read at the end.
var shown = map[string]struct {
	book  []ledger.Operation
	final ledger.Operation
	want  counts
}{
	"one slot": {
		[]ledger.Operation{get("", 0, 1, 4, 0, 1), put("a", 1, 1, 4, 2, 3), get("a", 1, 1, 4, 4, 5)},
		get("a", 1, 1, 4, 90, 91),
		counts{},
	},
	"a key that moves": {
		[]ledger.Operation{put("a", 1, 1, 4, 0, 1), put("b", 2, 5, 5, 2, 3)}, get("b", 2, 5, 5, 90, 91), counts{},
	},
	"a key that moves there and back": {
		[]ledger.Operation{put("a", 1, 1, 4, 0, 1), put("b", 2, 5, 5, 2, 3), put("c", 3, 1, 6, 4, 5)}, get("c", 3, 1, 6, 90, 91), counts{},
	},
	"answers of two owners that overlap, for one may have followed the other": {
		[]ledger.Operation{put("a", 1, 1, 4, 0, 9), put("b", 2, 5, 5, 1, 8)}, get("b", 2, 5, 5, 90, 91), counts{},
	},
	"the last write is gone": {
		[]ledger.Operation{put("a", 1, 1, 4, 0, 1), put("b", 2, 1, 4, 2, 3)}, get("a", 1, 5, 5, 90, 91), counts{lost: 1, stale: 1},
	},
	"the key is gone": {
		[]ledger.Operation{put("a", 1, 1, 4, 0, 1)}, get("", 0, 5, 5, 90, 91), counts{lost: 1, stale: 1},
	},
	"no answer at the end": {
		[]ledger.Operation{put("a", 1, 1, 4, 0, 1)}, ledger.Operation{Key: "k"}, counts{lost: 1},
	},
	"another value at the end": {
		[]ledger.Operation{put("a", 1, 1, 4, 0, 1), unanswered("b", 2, 3)}, get("b", 1, 1, 4, 90, 91), counts{lost: 1, wrong: 1},
	},
	"a write without an answer that happened": {
		[]ledger.Operation{put("a", 1, 1, 4, 0, 1), unanswered("b", 2, 3)}, get("b", 2, 1, 4, 90, 91), counts{},
	},
	"a write without an answer that did not": {
		[]ledger.Operation{put("a", 1, 1, 4, 0, 1), unanswered("b", 2, 3)}, get("a", 1, 1, 4, 90, 91), counts{},
	},
	"a value that no client wrote": {
		[]ledger.Operation{get("x", 1, 1, 4, 0, 1)}, get("x", 1, 1, 4, 90, 91), counts{wrong: 2},
	},
	"a stale read in the middle": {
		[]ledger.Operation{put("a", 1, 1, 4, 0, 1), put("b", 2, 1, 4, 2, 3), get("a", 1, 1, 4, 4, 5)},
		get("b", 2, 1, 4, 90, 91),
		counts{stale: 1},
	},
	"an older read that began before the write was answered": {
		[]ledger.Operation{put("a", 1, 1, 4, 0, 1), put("b", 2, 1, 4, 2, 5), get("a", 1, 1, 4, 4, 6)}, get("b", 2, 1, 4, 90, 91), counts{},
	},
	"one version for two writes": {
		[]ledger.Operation{put("a", 1, 1, 4, 0, 1), put("b", 1, 5, 5, 2, 3)}, get("b", 1, 5, 5, 90, 91), counts{lost: 1, stale: 1, wrong: 1},
	},
	"two slots under one config version": {
		[]ledger.Operation{put("a", 1, 1, 4, 0, 9), put("b", 2, 2, 4, 1, 8)}, get("b", 2, 1, 4, 90, 91), counts{doubles: 1},
	},
	"the owner of before answers after the next one": {
		[]ledger.Operation{put("a", 1, 1, 4, 0, 1), get("a", 1, 5, 5, 2, 3), get("a", 1, 1, 4, 4, 5)},
		get("a", 1, 5, 5, 90, 91),
		counts{doubles: 1},
	},
	"the same slot under a lower config version, after a restart": {
		[]ledger.Operation{put("a", 1, 1, 5, 0, 1), get("a", 1, 1, 4, 2, 3)}, get("a", 1, 1, 5, 90, 91), counts{},
	},
}

func TestWhatOperationsShow(t *testing.T) {
	for name, tt := range shown {
		tt.final.Key = "k"
		r := ledger.Judge(tt.book, []ledger.Operation{tt.final})
		if got := (counts{r.Lost, r.Stale, r.Wrong, r.DoubleOwners}); got != tt.want {
			t.Errorf("%s: %+v, want %+v: %q", name, got, tt.want, r.Findings)
		}
		if (r.Kept() == nil) != (tt.want == counts{}) {
			t.Errorf("%s: %v", name, r.Kept())
		}
	}
}

func TestTheLongestTimeWithoutAnAnswer(t *testing.T) {
	r := ledger.Judge([]ledger.Operation{
		put("a", 1, 1, 4, 0, 2*time.Second),
		unanswered("b", 10*time.Second, 15*time.Second),
		put("c", 2, 1, 4, 16*time.Second, 17*time.Second),
	}, []ledger.Operation{get("c", 2, 1, 4, 90*time.Second, 91*time.Second)})
	if r.Longest != 7*time.Second || r.LongestKey != "k" || r.Silence["k"] != r.Longest {
		t.Errorf("%s for %q, want the 7s from the write that was given up to the next answer", r.Longest, r.LongestKey)
	}
	if r.Operations != 3 || r.Puts != 2 || r.Gets != 0 || r.Unanswered != 1 || r.Keys != 1 {
		t.Errorf("%s", r)
	}
}
