package world

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// sampled iterates over all elements, or over every sixth under the race detector.
func sampled[T any](all []T) iter.Seq2[int, T] {
	every := 1
	if racing {
		every = 6
	}
	return func(yield func(int, T) bool) {
		for i := 0; i < len(all) && yield(i, all[i]); i += every {
		}
	}
}

// TestKeptPlans runs every plan that once broke a promise. Each file is named after the bug.
func TestKeptPlans(t *testing.T) {
	kept, err := filepath.Glob("testdata/kept/*.json")
	if err != nil || len(kept) == 0 {
		t.Fatalf("no kept plans: %v", err)
	}
	for _, name := range sampled(kept) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			body, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var p Plan
			if err := json.Unmarshal(body, &p, Codec); err != nil {
				t.Fatal(err)
			}
			for _, b := range Run(t, p).Broken {
				t.Error(b)
			}
		})
	}
}

// beginning returns the first ten minutes of a seed's plan.
func beginning(seed uint64) Plan {
	p := Draw(seed)
	p.Lasts = min(p.Lasts, 10*time.Minute)
	return p
}

func TestSeeds(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed %d", seed+1), func(t *testing.T) {
			t.Parallel()
			for _, b := range Run(t, beginning(seed+1)).Broken {
				t.Error(b)
			}
		})
	}
}

// TestOnePlanGivesOneRun runs a plan three times, twice with a transcript, and checks that all runs are the same.
func TestOnePlanGivesOneRun(t *testing.T) {
	first, second := Script(t, beginning(2)), Script(t, beginning(2))
	if first.Script != second.Script {
		t.Error("two runs of one plan have different transcripts")
	}
	third := Run(t, beginning(2))
	if third.Log != first.Log || third.Digest != first.Digest {
		t.Error("a run without a transcript differs from a run with one")
	}
	other := Run(t, beginning(3))
	if other.Log == first.Log || other.Digest == first.Digest {
		t.Error("the runs of two seeds are equal: the digest proves nothing")
	}
}

// TestPlansSurviveTheirFile encodes and decodes plans in the format that workers read.
func TestPlansSurviveTheirFile(t *testing.T) {
	for seed := range uint64(50) {
		p := Draw(seed)
		body, err := json.Marshal(p, Codec)
		if err != nil {
			t.Fatal(err)
		}
		var read Plan
		if err := json.Unmarshal(body, &read, Codec); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(read, Codec)
		if err != nil {
			t.Fatal(err)
		}
		if string(again) != string(body) {
			t.Fatalf("seed %d: the plan changes when it is written and read", seed)
		}
	}
}

// TestPlansAskAndBreakEnough checks that plans have at least 100 commands and 10 faults in a simulated hour.
func TestPlansAskAndBreakEnough(t *testing.T) {
	const seeds, commands, broken = 300, 100, 10
	var hours float64
	var asked, faulty int
	kinds := map[Kind]int{}
	for seed := range uint64(seeds) {
		p := Draw(seed, Beside...)
		hours += p.Lasts.Hours()
		for _, a := range p.Actions {
			kinds[a.Kind]++
			switch a.Kind { //nolint:exhaustive // all others are faults
			case Command:
				asked++
			case Ask:
			default:
				faulty++
			}
		}
	}
	if float64(asked)/hours < commands || float64(faulty)/hours < broken {
		t.Errorf("%.0f commands and %.0f faults in a simulated hour, want %d and %d", float64(asked)/hours, float64(faulty)/hours, commands, broken)
	}
	for _, f := range faults {
		if kinds[f.kind] == 0 {
			t.Errorf("no plan has a fault %s", f.kind)
		}
	}
}
