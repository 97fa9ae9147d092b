package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rookery-project/rookery/cmd/simulation/mutants/planted"
)

// core lists the packages with mutants: they decide what a cluster does. It leaves out the runners, which only wait and transport, and whatif
// and capsule, which only look at the past.
var core = []string{"events", "projections", "projections/barrier", "projections/views", "coordinator", "coordinator/operation", "coordinator/placement", "node"}

// simulator is the package whose tests run the kept plans, the golden logs and some seeds.
const simulator = "cmd/simulation/world"

// others lists the packages whose tests reach the core, and have no input but their own code.
var others = []string{"coordinator/whatif", "coordinator/capsule", "node/runner", "schemas", simulator}

// quick is how much CPU time a test may take to run in one process with others.
const quick = 400 * time.Millisecond

// suite is the test binary of a package. It carries the mutants of all core packages.
type suite struct {
	pkg, binary, dir string
	flags            []string
	checks           []*check
}

// check is a test, or a test within one.
type check struct {
	suite   *suite
	test    string
	lasts   time.Duration // CPU time without a mutant
	reaches *[planted.Most]bool
}

// pattern selects tests for -test.run, which takes one for each level.
func pattern(test string) string {
	var levels []string
	for level := range strings.SplitSeq(test, "/") {
		levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
	}
	return strings.Join(levels, "/")
}

// buildSuites builds the test binaries into dir.
func buildSuites(ctx context.Context, root, dir, overlay string, told *progress) ([]*suite, error) {
	var all []*suite
	for _, pkg := range slices.Concat(core, others) {
		told.say("build the tests of %s", pkg)
		s := &suite{pkg: pkg, binary: filepath.Join(dir, strings.ReplaceAll(pkg, "/", "-")+".test"), dir: filepath.Join(root, pkg)}
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-trimpath", "-ldflags=-s -w", "-overlay", overlay, "-o", s.binary, "./"+pkg)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the tests of %s: %w\n%s", pkg, err, out)
		}
		s.flags = []string{"-test.short", "-test.parallel=1", "-test.failfast"}
		// Property tests use the same values each time, and leave no files.
		rapid := []string{"-rapid.nofailfile", "-rapid.seed=1"}
		if exec.CommandContext(ctx, s.binary, append(rapid, "-test.list=^$")...).Run() == nil {
			s.flags = append(s.flags, rapid...)
		}
		all = append(all, s)
	}
	return all, nil
}

// process returns the process that runs some tests of the suite. Its temporary files are removed with the binary.
func (s *suite) process(run string, limit time.Duration, env ...string) process {
	env = append(env, "TMPDIR="+filepath.Dir(s.binary))
	return process{binary: s.binary, dir: s.dir, args: append([]string{"-test.run=" + run}, s.flags...), env: env, limit: limit}
}

// tests returns the names of the suite's tests.
func (s *suite) tests(ctx context.Context) ([]string, error) {
	out, err := exec.CommandContext(ctx, s.binary, "-test.list=^(Test|Fuzz|Example)").Output()
	return strings.Fields(string(out)), err
}

// trace runs each test without a mutant, to measure its time and to find the mutants that it reaches.
func trace(ctx context.Context, suites []*suite, dir string, told *progress) error {
	var mu sync.Mutex
	done := 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for _, s := range suites {
		tests, err := s.tests(ctx)
		if err != nil {
			return cmp.Or(group.Wait(), fmt.Errorf("list the tests of %s: %w", s.pkg, err)) // the error of a test that failed comes first
		}
		for _, test := range tests {
			group.Go(func() error {
				found, err := s.traceTest(ctx, test, dir)
				mu.Lock()
				defer mu.Unlock()
				s.checks = append(s.checks, found...)
				done++
				told.say("run %s: %d tests without a mutant so far", s.pkg, done)
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, s := range suites {
		slices.SortFunc(s.checks, func(a, b *check) int { return cmp.Or(cmp.Compare(a.lasts, b.lasts), cmp.Compare(a.test, b.test)) })
	}
	return nil
}

// within matches the direct subtests of a test in the output of -test.v.
var within = regexp.MustCompile(`(?m)^    --- PASS: (\S+) \(`)

// traceTest traces a test, or the subtests of a test that takes long.
func (s *suite) traceTest(ctx context.Context, test, dir string) ([]*check, error) {
	whole, said, err := s.traceOne(ctx, test, dir)
	if err != nil || whole.lasts <= quick {
		return []*check{whole}, err
	}
	parts := within.FindAllSubmatch(said, -1)
	if len(parts) == 0 {
		return []*check{whole}, nil
	}
	var all []*check
	for _, part := range parts {
		c, _, err := s.traceOne(ctx, string(part[1]), dir)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// cleanLimit is how long a test may take without a mutant.
const cleanLimit = 5 * time.Minute

func (s *suite) traceOne(ctx context.Context, test, dir string) (*check, []byte, error) {
	file, err := os.CreateTemp(dir, "reached-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if err := file.Truncate(planted.Most); err != nil {
		return nil, nil, err
	}
	p := s.process(pattern(test), cleanLimit, planted.ReachedVariable+"="+file.Name())
	p.args = append(p.args, "-test.v")
	e, err := p.run(ctx)
	if err != nil {
		return nil, nil, err
	}
	if e.failed {
		return nil, nil, fmt.Errorf("%s: %s fails without a mutant:\n%s", s.pkg, test, e.said)
	}
	c := &check{suite: s, test: test, lasts: e.took, reaches: new([planted.Most]bool)}
	notes := make([]byte, planted.Most)
	if _, err := file.ReadAt(notes, 0); err != nil {
		return nil, nil, err
	}
	for i, note := range notes {
		c.reaches[i] = note != 0
	}
	return c, e.said, file.Close()
}
