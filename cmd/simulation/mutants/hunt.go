package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rookery-project/rookery/cmd/simulation/mutants/instrument"
	"github.com/rookery-project/rookery/cmd/simulation/mutants/planted"
)

// outcome is the result for a mutant.
type outcome string

const (
	killed     outcome = "killed"
	equivalent outcome = "equivalent"
	survived   outcome = "survived"
)

// verdict is the outcome of a mutant, with the reason.
type verdict struct {
	instrument.Mutant
	Outcome outcome `json:"outcome"`
	// By is the test that fails, or why none does.
	By      string  `json:"by"`
	Seconds float64 `json:"seconds"`
}

// Bounds of the CPU time of tests with a mutant.
const (
	leastLimit = 5 * time.Second  // even if they are quick without a mutant
	times      = 10               // as long as without a mutant
	slowBudget = 10 * time.Second // total for one mutant of the tests that run alone, by their time without it
)

// waitLimit is how long a process with a mutant may take in real time. It ends those that wait forever. The other limits are on CPU time,
// because other processes may be busy.
const waitLimit = time.Minute

// sample returns n of the mutants, chosen by the seed alone. A larger sample includes the smaller one.
func sample(mutants []instrument.Mutant, n int, seed uint64) []instrument.Mutant {
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(mutants))
	var chosen []instrument.Mutant
	for _, i := range order[:min(n, len(order))] {
		chosen = append(chosen, mutants[i])
	}
	return chosen
}

// hunt runs the tests against each mutant.
func hunt(ctx context.Context, suites []*suite, mutants []instrument.Mutant, told *progress) ([]verdict, error) {
	verdicts := make([]verdict, len(mutants))
	var mu sync.Mutex
	done, alive := 0, 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for i, m := range mutants {
		group.Go(func() error {
			v, err := try(ctx, suites, m)
			if err != nil {
				return err
			}
			verdicts[i] = v
			mu.Lock()
			defer mu.Unlock()
			done++
			if v.Outcome == survived {
				alive++
			}
			told.say("%d of %d mutants, %d survived", done, len(mutants), alive)
			return nil
		})
	}
	return verdicts, group.Wait()
}

// try runs the tests that reach a mutant until one fails.
func try(ctx context.Context, suites []*suite, m instrument.Mutant) (verdict, error) {
	v := verdict{Mutant: m, Outcome: survived, By: "no test reaches it with values for which it makes a difference"}
	runs, began := plan(suites, m), time.Now()
	tests := 0
	for _, r := range runs {
		seconds := max(leastLimit, times*r.lasts) / time.Second
		e, err := r.suite.process(r.pattern, waitLimit,
			fmt.Sprintf("%s=%d", planted.Variable, m.Number), fmt.Sprintf("%s=%d", planted.SecondsVariable, seconds)).run(ctx)
		if err != nil {
			return v, err
		}
		tests += r.tests
		v.By = fmt.Sprintf("%d tests reach it and pass", tests)
		if e.failed {
			v.Outcome, v.By = killed, r.suite.pkg+": "+e.why()
			break
		}
	}
	v.Seconds = time.Since(began).Seconds()
	if sentence := equivalents[m.ID]; sentence != "" && v.Outcome == survived {
		v.Outcome, v.By = equivalent, sentence
	}
	return v, nil
}

// run is a set of tests that run in one process.
type run struct {
	suite   *suite
	pattern string
	tests   int
	lasts   time.Duration
}

// plan returns the runs for the mutant: quick tests of its package, then quick tests of others, then slow tests of all packages. A slow test
// runs alone, and the budget bounds their number. Each group begins with the quickest.
func plan(suites []*suite, m instrument.Mutant) []run {
	var together, alone []run
	for _, s := range suites {
		var names []string
		var lasts time.Duration
		for _, c := range s.checks {
			switch {
			case !c.reaches[m.Number]:
			case c.lasts > quick || strings.Contains(c.test, "/"):
				alone = append(alone, run{suite: s, pattern: pattern(c.test), tests: 1, lasts: c.lasts})
			default:
				names = append(names, c.test)
				lasts += c.lasts
			}
		}
		if len(names) > 0 {
			together = append(together, run{suite: s, pattern: "^(" + strings.Join(names, "|") + ")$", tests: len(names), lasts: lasts})
		}
	}
	own := func(r run) int {
		if r.suite.pkg == m.Package {
			return 0
		}
		return 1
	}
	sooner := func(a, b run) int { return cmp.Or(cmp.Compare(own(a), own(b)), cmp.Compare(a.lasts, b.lasts)) }
	slices.SortStableFunc(together, sooner)
	slices.SortStableFunc(alone, sooner)
	budget := slowBudget
	alone = slices.DeleteFunc(alone, func(r run) bool {
		budget -= r.lasts
		return budget < 0
	})
	return append(together, alone...)
}
