// Command swarmkit is a benchmark peer: it runs one round of one mix of
// instances through the scheduler of github.com/moby/swarmkit/v2 and prints
// one JSON line about it on standard output, so that Rookery's placement can
// be measured beside it on the same machine and on the same shapes.
//
// A round fills swarmkit's in-memory store with nodes, services and pending
// tasks, starts the scheduler on it (scheduler.New and Run, the way of
// swarmkit's own benchmarks) and ends when the last task is committed as
// assigned. The store has no proposer, so there is no raft log and no disk in
// the figures. One process runs one round: nothing is warm from a round
// before, and its CPU and heap figures belong to that round alone.
//
// Three things are not as in a Rookery round, and have to be said wherever
// the figures are shown:
//
//   - swarmkit has no anti-affinity. The w3 mix uses its nearest thing, at
//     most one replica per node (Placement.MaxReplicas: 1), for the services
//     whose number is a multiple of ten. That keeps instances of one service
//     off each other's nodes; it cannot keep two services apart.
//   - swarmkit's own benchmarks give their tasks neither a service nor a spec
//     version, so there every task is scheduled alone, by one pass over all
//     nodes. Here the tasks of one service are grouped, as they are in a real
//     swarm, unless -one-by-one is given.
//   - swarmkit's own benchmarks start the scheduler on an empty store, so
//     their figures hold one debounce of 50 ms. Here all tasks are pending
//     before the scheduler starts, and it schedules them at once.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// swarmkitModule is the module path whose version the JSON line names.
const swarmkitModule = "github.com/moby/swarmkit/v2"

// options is what the command line asked for.
type options struct {
	// shape is the mix with its overrides applied.
	shape shape
	// deadline is how long all instances may take to be placed.
	deadline time.Duration
}

func main() {
	asked, err := parseOptions(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(asked, os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "swarmkit: %v\n", err)
		os.Exit(1)
	}
}

// run does one round and writes its JSON line to out. It returns an error
// when not all instances were placed, or were placed against their own
// rules; the line is written all the same, so that what did happen is seen.
func run(asked options, out io.Writer) error {
	if err := asked.shape.checkPlan(); err != nil {
		return err
	}
	report, roundErr := runRound(asked.shape, asked.deadline)
	if report == nil {
		return roundErr
	}
	report.Version = swarmkitVersion()
	if err := json.NewEncoder(out).Encode(report); err != nil {
		return fmt.Errorf("cannot write the result: %w", err)
	}
	return roundErr
}

// parseOptions reads the command line; usage and mistakes in it go to usage.
func parseOptions(arguments []string, usage io.Writer) (options, error) {
	flags := flag.NewFlagSet("swarmkit", flag.ContinueOnError)
	flags.SetOutput(usage)
	name := flags.String("mix", "w1", "the `mix` to run: "+strings.Join(mixNames(), ", "))
	nodes := flags.Int("nodes", 0, "`number` of nodes, 0 for the mix's own")
	services := flags.Int("services", 0, "`number` of services, 0 for the mix's own")
	instances := flags.Int("instances", 0, "`number` of instances of each service, 0 for the mix's own")
	oneByOne := flags.Bool("one-by-one", false, "give tasks no common spec version, so that each is scheduled alone\n(what swarmkit's own benchmarks do)")
	deadline := flags.Duration("deadline", 10*time.Minute, "how `long` placing all instances may take")
	flags.Usage = func() { printUsage(flags) }
	if err := flags.Parse(arguments); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("there is an argument too many: %q (see -help)", flags.Arg(0))
	}
	if *deadline <= 0 {
		return options{}, fmt.Errorf("-deadline %s is not a time to wait; give one above 0", *deadline)
	}
	chosen, err := findShape(*name)
	if err != nil {
		return options{}, err
	}
	chosen.oneByOne = *oneByOne
	if err := chosen.override(*nodes, *services, *instances); err != nil {
		return options{}, err
	}
	return options{shape: chosen, deadline: *deadline}, nil
}

// printUsage writes the -help text.
func printUsage(flags *flag.FlagSet) {
	out := flags.Output()
	fmt.Fprint(out, `Runs one round of one mix through swarmkit's scheduler and prints one JSON
line about it on standard output.

Usage: swarmkit [flags]

Mixes:
`)
	for _, each := range shapes {
		fmt.Fprintf(out, "  %-18s %s\n", each.name, each.about)
	}
	fmt.Fprint(out, "\nFlags:\n")
	flags.PrintDefaults()
	fmt.Fprint(out, `
Example: the resources-only mix, a tenth of its size, at most one minute:

  swarmkit -mix w1 -nodes 500 -instances 100 -deadline 1m

The exit code is 0 when every instance was placed, and 1 with a sentence on
standard error when not.
`)
}

// swarmkitVersion is the version of swarmkit that this binary was built with.
func swarmkitVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == swarmkitModule {
				return module.Version
			}
		}
	}
	return "unknown"
}
