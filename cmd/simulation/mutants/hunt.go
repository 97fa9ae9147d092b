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

// outcome is what became of a mutant.
type outcome string

const (
	killed     outcome = "killed"
	equivalent outcome = "equivalent"
	survived   outcome = "survived"
)

// verdict is what became of a mutant, and why.
type verdict struct {
	instrument.Mutant
	Outcome outcome `json:"outcome"`
	// By is the test that fails, or why none does.
	By      string  `json:"by"`
	Seconds float64 `json:"seconds"`
}

// How much CPU time tests may take with a mutant.
const (
	leastLimit = 5 * time.Second  // however quick they are without
	times      = 10               // as long as without
	slowBudget = 10 * time.Second // what tests that run alone may take together for one mutant, without it
)

// waitLimit is how long a process with a mutant may take, for those that wait without end. Most of the limits are on CPU
// time, because other processes may be busy.
const waitLimit = time.Minute

// sample returns n of the mutants, which the seed alone chooses: a larger sample has all of a smaller one.
func sample(mutants []instrument.Mutant, n int, seed uint64) []instrument.Mutant {
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(mutants))
	var chosen []instrument.Mutant
	for _, i := range order[:min(n, len(order))] {
		chosen = append(chosen, mutants[i])
	}
	return chosen
}

// hunt has the tests try each mutant.
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
	v := verdict{Mutant: m, Outcome: survived, By: "no test reaches it, or comes to the values that it is about"}
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

// run is tests that go together in one process.
type run struct {
	suite   *suite
	pattern string
	tests   int
	lasts   time.Duration
}

// plan returns what is run with the mutant: quick tests of its package, then those of others, then the slow ones of all, each
// alone and as many as the budget allows. Each of these begins with the quickest.
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
