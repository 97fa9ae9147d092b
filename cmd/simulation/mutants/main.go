// Command mutants proves the tests and the simulator: it plants small bugs one by one, and checks that a test fails for each.
//
// Rules make the mutants from the syntax of the core packages (package instrument). One test binary for each package carries all of them,
// and an environment variable chooses one (package planted). Other tools do not fit: gremlins, go-mutesting and ooze build a program for
// each mutant. Libraries that choose at run time are pre-releases, and support only tests, not simulated runs.
//
// A run without a mutant finds the mutants that each test reaches. To reach one, a test must run its line with values for which the mutant
// makes a difference. Then each mutant of a sample runs against the tests that reach it, quickest first, until one fails.
//
// The command also puts the bugs back that were really found (found.go). Each must break its kept plan, or the test that beside.go names.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rookery-project/rookery/cmd/simulation/mutants/instrument"
)

// The exit codes.
const (
	exitUnproved = 1
	exitUsage    = 2
	exitSignal   = 130
)

const usage = `mutants plants small bugs by rule into events, projections, coordinator and node. It reports the bugs that no test and no
simulated run notices. It also puts back the bugs that were really found.

  mutants                        try a sample of 300, and every found bug
  mutants -mutants 1000          try a larger sample, which includes the smaller one
  mutants -mutants 0             try only the found bugs
  mutants -only NAME,NAME        try only these mutants or found bugs

A mutant is named package.Function/operator/ordinal. The operators are negate, boundary, call, assign, swap, case and return.

Exit codes: 0 every found bug is caught, 90 % of the mutants that are not equivalent are killed and at most 5 % are listed as
equivalent; 1 one of these bounds is missed, or the command failed; 2 wrong usage; 130 Ctrl-C.

`

type options struct {
	mutants int
	seed    uint64
	only    string
	output  string
}

func main() { os.Exit(start()) }

func start() int {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants: "+err.Error()+"\nSee 'mutants -help'")
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	proved, err := o.run(ctx)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "mutants: interrupted")
		return exitSignal
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants: "+err.Error())
		return exitUnproved
	case !proved:
		return exitUnproved
	}
	return 0
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(os.Stdout)
	flags.Usage = func() {
		fmt.Print(usage)
		flags.PrintDefaults()
	}
	flags.IntVar(&o.mutants, "mutants", 300, "try a sample of `N` mutants")
	flags.Uint64Var(&o.seed, "seed", 1, "choose the sample by this `seed`")
	flags.StringVar(&o.only, "only", "", "try only the mutants and found bugs with these `names`, separated by commas")
	flags.StringVar(&o.output, "output", "table", "print a table, or json for scripts")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.mutants < 0:
		return o, fmt.Errorf("invalid -mutants %d: want a whole number from 0", o.mutants)
	case o.output != "table" && o.output != "json":
		return o, fmt.Errorf("invalid -output %q: want table or json", o.output)
	}
	return o, nil
}

func (o options) run(ctx context.Context) (bool, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return false, err
	}
	told := newProgress()
	defer told.end()
	told.say("find the mutants")
	set, err := instrument.Packages(ctx, root, core...)
	if err != nil {
		return false, err
	}
	mutants, bugs, err := o.chosen(set.Mutants)
	if err != nil {
		return false, err
	}
	r := report{Seed: o.seed, All: len(set.Mutants), Skipped: set.Skipped}
	if len(mutants) > 0 {
		if r.Verdicts, err = tryMutants(ctx, root, set, mutants, told); err != nil {
			return false, err
		}
	}
	if r.Found, err = tryFound(ctx, root, bugs, told); err != nil {
		return false, err
	}
	told.end()
	if o.output == "json" {
		return r.proved(), r.printJSON(os.Stdout)
	}
	return r.proved(), r.print(os.Stdout)
}

// chosen returns the mutants and bugs that the options name, or a sample and all found bugs.
func (o options) chosen(all []instrument.Mutant) (mutants []instrument.Mutant, bugs []bug, err error) {
	if o.only == "" {
		return sample(all, o.mutants, o.seed), found, nil
	}
	for name := range strings.SplitSeq(o.only, ",") {
		i := slices.IndexFunc(all, func(m instrument.Mutant) bool { return m.ID == name })
		j := slices.IndexFunc(found, func(b bug) bool { return b.name == name })
		switch {
		case i >= 0:
			mutants = append(mutants, all[i])
		case j >= 0:
			bugs = append(bugs, found[j])
		default:
			return nil, nil, fmt.Errorf("unknown name %q in -only: want the name of a mutant or of a found bug", name)
		}
	}
	return mutants, bugs, nil
}

// tryMutants builds and traces the tests, and runs them against the mutants.
func tryMutants(ctx context.Context, root string, set *instrument.Set, mutants []instrument.Mutant, told *progress) ([]verdict, error) {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := set.Overlay(dir)
	if err != nil {
		return nil, err
	}
	suites, err := buildSuites(ctx, root, dir, overlay, told)
	if err != nil {
		return nil, err
	}
	if err := trace(ctx, suites, dir, told); err != nil {
		return nil, err
	}
	return hunt(ctx, suites, mutants, told)
}

// moduleRoot returns the folder of the module.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	file := strings.TrimSpace(string(out))
	if err == nil && filepath.Base(file) != "go.mod" {
		err = errors.New("not inside the module: run this in the repository")
	}
	return filepath.Dir(file), err
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
