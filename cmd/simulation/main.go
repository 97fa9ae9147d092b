// Command simulation runs the whole house in one process, in simulated time, under faults that are drawn from a seed,
// and holds it to what it promises.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/rookery-project/rookery/cmd/simulation/strike"
	"github.com/rookery-project/rookery/cmd/simulation/world"
)

// The exit codes. Scripts may count on them.
const (
	exitKept   = 0
	exitBroken = 1 // a promise was broken, or the simulation itself failed
	exitUsage  = 2
	exitSignal = 130
)

const usage = `simulation runs coordinators, nodes, the bus and the engines in one process, in simulated time, under faults that are
drawn from a seed, and holds them to what Rookery promises.

  simulation -seed 17              run one seed and print all that happens
  simulation -seeds 200            run the seeds 1 to 200
  simulation -for 2m               run fresh seeds for two minutes
  simulation -seeds 20000 -for 30m run seeds from 1 on, until either ends
  simulation -seed 17 -save bug.json   write what breaks a promise into a capsule, which reproduces it
  simulation -capsule bug.json     replay a capsule, and say whether it comes to the same

One seed gives the same run each time, byte for byte. One of a hundred seeds is run twice to show that. At the first
broken promise it stops, prints the seed, the promise, and the shortest transcript that it finds which breaks it.

A capsule is a file that needs nothing else: the shortest plan that was found to break a promise, the version that it was found
with, and how the promise was broken. Where the run breaks it again the exit code is 1, where it does not any more 0.
A capsule that rookery capsule made of a cluster holds its log and the commands. The log is folded with its hash chain, and each
round of the part that it is of is decided once more, as far as what it was decided on is there: every command, and the node of
every instance. What nodes said and what time made due is taken from the log. The first difference is told, and the exit code 1.

Exit codes: 0 every promise kept, 1 one was broken, 2 wrong usage, 130 Ctrl-C.

`

// options are those of the command line.
type options struct {
	seed   uint64
	seeds  uint64
	lasts  time.Duration
	twice  bool
	output string
	// beside are kinds of faults that are drawn where they are named alone.
	beside []world.Kind
	// saveTo is where the capsule of a failure is written, and capsule the one that is replayed; "" for none.
	saveTo  string
	capsule string
}

func main() {
	if os.Getenv(workerVariable) != "" {
		work()
		return
	}
	os.Exit(run())
}

func run() int {
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulation: "+err.Error()+"\nSee 'simulation -help'")
		return exitUsage
	}
	if o == nil {
		return exitKept
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := o.run(ctx)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "simulation: interrupted")
		return exitSignal
	case err != nil:
		fmt.Fprintln(os.Stderr, "simulation: "+err.Error())
		return exitBroken
	}
	return code
}

// parse reads the command line. It returns nil where help was asked for, and given.
func parse(args []string) (*options, error) {
	var o options
	flags := flag.NewFlagSet("simulation", flag.ContinueOnError)
	flags.SetOutput(os.Stdout)
	flags.Usage = func() {
		fmt.Print(usage)
		flags.PrintDefaults()
	}
	flags.Uint64Var(&o.seed, "seed", 0, "replay this one `seed` and print the transcript")
	flags.Uint64Var(&o.seeds, "seeds", 0, "run the seeds from 1 to `N`")
	flags.DurationVar(&o.lasts, "for", 0, "run for this long, as in 2m; fresh seeds unless -seeds is given")
	flags.Func("beside", "draw this `fault` as well: stale-info, which Rookery does not bear yet, or panics, in a program that make sim-panics compiles", func(name string) error {
		if !slices.Contains(world.Beside, world.Kind(name)) {
			return fmt.Errorf("want one of %v", world.Beside)
		}
		if world.Kind(name) == world.Panics && !strike.Compiled() {
			return errors.New("this program is not compiled for panics: see make sim-panics")
		}
		o.beside = append(o.beside, world.Kind(name))
		return nil
	})
	flags.BoolVar(&o.twice, "twice", false, "run every seed twice, and hold both runs to one log")
	flags.StringVar(&o.saveTo, "save", "", "where a promise is broken, write a capsule to this `file`")
	flags.StringVar(&o.capsule, "capsule", "", "replay the capsule in this `file`")
	flags.StringVar(&o.output, "output", "text", "how the report is printed: text, or json for scripts")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, nil
		}
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.output != "text" && o.output != "json":
		return nil, fmt.Errorf("-output is text or json, not %q", o.output)
	case o.capsule != "" && (o.seed != 0 || o.seeds != 0 || o.lasts != 0 || o.twice || len(o.beside) > 0 || o.saveTo != "" || o.output != "text"):
		return nil, errors.New("-capsule replays what is in a file: it goes with no other flag")
	case o.capsule != "":
		return &o, nil
	case o.seed == 0 && o.seeds == 0 && o.lasts <= 0:
		return nil, errors.New("say what to run: -seed 17, -seeds 200, -for 2m or -capsule bug.json")
	case o.seed != 0 && (o.seeds != 0 || o.lasts != 0):
		return nil, errors.New("-seed replays one run: it goes with neither -seeds nor -for")
	}
	return &o, nil
}

func (o *options) run(ctx context.Context) (int, error) {
	if o.capsule != "" {
		return replayCapsule(ctx, o.capsule)
	}
	p := &pool{options: o, workers: runtime.NumCPU()}
	if o.seed != 0 {
		return p.replay(ctx, o.seed)
	}
	r, err := p.run(ctx)
	if err != nil {
		return exitBroken, err
	}
	if o.saveTo != "" && ctx.Err() == nil {
		if err := save(o.saveTo, r.Failures); err != nil {
			return exitBroken, err
		}
	}
	if o.output == "json" {
		return r.code(), r.printJSON(os.Stdout)
	}
	r.print(os.Stdout)
	return r.code(), nil
}
