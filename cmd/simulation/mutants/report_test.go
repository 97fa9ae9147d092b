package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/simulation/mutants/instrument"
	"github.com/rookery-project/rookery/cmd/simulation/mutants/planted"
)

// verdicts returns as many verdicts of each outcome.
func verdicts(dead, same, alive int) []verdict {
	v := slices.Repeat([]verdict{{Outcome: killed, Seconds: 2}}, dead)
	v = append(v, slices.Repeat([]verdict{{Outcome: equivalent}}, same)...)
	return append(v, slices.Repeat([]verdict{{Outcome: survived}}, alive)...)
}

func TestTheTestsAreProvedByKillsAndCaughtBugs(t *testing.T) {
	for _, row := range []struct {
		name             string
		dead, same, live int
		found            []caught
		proved           bool
		last             string
	}{
		{"all killed", 10, 0, 0, nil, true, "mutants 10, killed 10, equivalent 0, survived 0, median seconds to kill 2.00"},
		{"nine of ten killed", 9, 0, 1, nil, true, "mutants 10, killed 9, equivalent 0, survived 1, median seconds to kill 2.00"},
		{"fewer killed", 89, 0, 11, nil, false, "mutants 100, killed 89, equivalent 0, survived 11, median seconds to kill 2.00"},
		{"equivalents do not count", 86, 5, 9, nil, true, "mutants 100, killed 86, equivalent 5, survived 9, median seconds to kill 2.00"},
		{"too many listed", 94, 6, 0, nil, false, "mutants 100, killed 94, equivalent 6, survived 0, median seconds to kill 2.00"},
		{"bug caught", 0, 0, 0, []caught{{Promise: "P1"}}, true, "mutants 0, killed 0, equivalent 0, survived 0, median seconds to kill 0.00"},
		{"bug not caught", 1, 0, 0, []caught{{Promise: "P1"}, {}}, false, "mutants 1, killed 1, equivalent 0, survived 0, median seconds to kill 2.00"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := report{Verdicts: verdicts(row.dead, row.same, row.live), Found: row.found}
			if got := r.proved(); got != row.proved {
				t.Errorf("proved: %t", got)
			}
			var text strings.Builder
			if err := r.print(&text); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(text.String(), "\n"+row.last+"\n") {
				t.Errorf("the table does not end with %q:\n%s", row.last, text.String())
			}
		})
	}
}

func TestALargerSampleHasAllOfASmallerOne(t *testing.T) {
	var all []instrument.Mutant
	for n := range uint16(50) {
		all = append(all, instrument.Mutant{Number: n + 1})
	}
	small, large := sample(all, 10, 7), sample(all, 20, 7)
	if len(small) != 10 || len(large) != 20 || !slices.Equal(small, large[:10]) {
		t.Errorf("%v is not the beginning of %v", small, large)
	}
	if slices.Equal(small, sample(all, 10, 8)) {
		t.Error("two seeds choose the same sample")
	}
	if got := len(sample(all, 100, 7)); got != len(all) {
		t.Errorf("a sample larger than the set has %d mutants, want all of them", got)
	}
}

func TestWhyAProcessEnded(t *testing.T) {
	for said, want := range map[string]string{
		"":                                    "exit code",
		"ok\n    --- FAIL: TestA/b (0.01s)\n": "TestA/b",
		"a\npanic: boom\n\ngoroutine 1":       "panic: boom",
		"fatal error: all goroutines asleep!": "fatal error: all goroutines asleep!",
	} {
		if got := (ended{failed: true, said: []byte(said)}).why(); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
	if got := (ended{failed: true, killed: true}).why(); got != "time limit" {
		t.Errorf("killed: %q", got)
	}
}

// TestTheQuickTestsOfAPackageComeFirst checks the order in which tests run against a mutant.
func TestTheQuickTestsOfAPackageComeFirst(t *testing.T) {
	reaches := &[planted.Most]bool{1: true}
	at := func(pkg string, checks ...*check) *suite {
		s := &suite{pkg: pkg, checks: checks}
		for _, c := range checks {
			c.suite = s
		}
		return s
	}
	suites := []*suite{
		at("other", &check{test: "TestO", lasts: time.Millisecond, reaches: reaches}),
		at("world", &check{test: "TestKept/long", lasts: 2 * slowBudget, reaches: reaches}, &check{test: "TestKept/a", lasts: time.Second, reaches: reaches}),
		at("own", &check{test: "TestA", lasts: quick, reaches: reaches}, &check{test: "TestB", reaches: reaches},
			&check{test: "TestAway", reaches: new([planted.Most]bool)}),
	}
	var got []string
	for _, r := range plan(suites, instrument.Mutant{Number: 1, Package: "own"}) {
		got = append(got, r.suite.pkg+" "+r.pattern)
	}
	want := []string{"own ^(TestA|TestB)$", "other ^(TestO)$", "world ^TestKept$/^a$"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestEquivalentsAreMutants checks that the list names existing mutants, each with a reason.
func TestEquivalentsAreMutants(t *testing.T) {
	set, err := instrument.Packages(t.Context(), absolute(t, root), core...)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, m := range set.Mutants {
		there[m.ID] = true
	}
	for id, sentence := range equivalents {
		if !there[id] || sentence == "" {
			t.Errorf("the list names %s, which is not a mutant or has no reason", id)
		}
	}
}
