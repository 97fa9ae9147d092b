// Command simulation runs all of Rookery in one process, in simulated time, under faults that are drawn from a seed. It checks that Rookery
// keeps its promises.
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

// The exit codes. Scripts may rely on them.
const (
	exitKept   = 0
	exitBroken = 1 // a promise was broken, or the simulation itself failed
	exitUsage  = 2
	exitSignal = 130
)

const usage = `simulation runs coordinators, nodes, the bus and the engines in one process, in simulated time, under faults that are
drawn from a seed. It checks that Rookery keeps its promises.

  simulation -seed 17              run one seed and print its transcript
  simulation -seeds 200            run the seeds 1 to 200
  simulation -for 2m               run fresh seeds for two minutes
  simulation -seeds 20000 -for 30m run seeds from 1 on, until either ends
  simulation -seed 17 -save bug.json   write a capsule that reproduces the broken promise
  simulation -capsule bug.json     replay a capsule, and compare the outcome

One seed gives the same run each time, byte for byte. To prove it, the simulation runs one of a hundred seeds twice. At the
first broken promise it stops. It prints the seed, the promise, and the shortest transcript it finds that breaks the promise.

A capsule is a file that needs nothing else. It holds the shortest plan that breaks a promise, the version that broke it, and
how. The exit code is 1 if the replay breaks a promise, and 0 if it breaks none.

The command "rookery capsule" makes a capsule of a cluster, with its log and its commands. The simulation folds that log and
verifies its hash chain. It repeats the decisions in each round of the capsule's part of the log, as far as the capsule holds
their inputs: every command, and the node of every instance. It takes the statuses of nodes and the timers from the log. It
prints the first difference, with exit code 1.

Exit codes: 0 every promise kept, 1 a promise broken, 2 wrong usage, 130 Ctrl-C.

`

// options are those of the command line.
type options struct {
	seed   uint64
	seeds  uint64
	lasts  time.Duration
	twice  bool
	output string
	// beside holds the kinds of faults that the simulation draws only if a flag names them.
	beside []world.Kind
	// saveTo is the file for the capsule of a failure, and capsule the file to replay; "" for none.
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

// parse reads the command line. It returns nil after it has printed the help.
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
	const beside = "draw this `fault` too: panics, in a build by make sim-panics"
	flags.Func("beside", beside, func(name string) error {
		if !slices.Contains(world.Beside, world.Kind(name)) {
			return fmt.Errorf("want one of %v", world.Beside)
		}
		if world.Kind(name) == world.Panics && !strike.Compiled() {
			return errors.New("this build has no panics: build one with make sim-panics")
		}
		o.beside = append(o.beside, world.Kind(name))
		return nil
	})
	flags.BoolVar(&o.twice, "twice", false, "run every seed twice, and compare the logs")
	flags.StringVar(&o.saveTo, "save", "", "write the capsule of a broken promise to this `file`")
	flags.StringVar(&o.capsule, "capsule", "", "replay the capsule in this `file`")
	flags.StringVar(&o.output, "output", "text", "print the report as text, or as json for scripts")
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
		return nil, fmt.Errorf("invalid -output %q: want text or json", o.output)
	case o.capsule != "" && (o.seed != 0 || o.seeds != 0 || o.lasts != 0 || o.twice || len(o.beside) > 0 || o.saveTo != "" || o.output != "text"):
		return nil, errors.New("-capsule replays a file and takes no other flag: remove the others")
	case o.capsule != "":
		return &o, nil
	case o.seed == 0 && o.seeds == 0 && o.lasts <= 0:
		return nil, errors.New("nothing to run: give -seed 17, -seeds 200, -for 2m or -capsule bug.json")
	case o.seed != 0 && (o.seeds != 0 || o.lasts != 0):
		return nil, errors.New("-seed replays one run: remove -seeds and -for")
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
