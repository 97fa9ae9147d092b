// Command placement measures how fast instances are placed, beside swarmkit's scheduler: the same nodes and the same
// services, one after the other in rounds, each round in a process of its own.
//
// Ours is what a leader does: rounds of coordinator.Turn with their explanations, applied to the state, without a log on
// either side. A second table has ours once more, with each round encoded and acknowledged by the log. Swarmkit's is a module of its own in the folder swarmkit, so that the product does not depend on it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

const usage = `placement measures placements a second beside swarmkit's scheduler.

  placement -peer ./swarmkit              every mix, three rounds of each, interleaved
  placement -peer ./swarmkit -mixes w1    one mix
  placement -round w1                     one round of ours, as a line of JSON
  placement -logged w1                    the same with the log

`

func main() {
	peer := flag.String("peer", "", "the `program` that runs swarmkit's scheduler")
	rounds := flag.Int("rounds", 3, "how many rounds each mix has")
	only := flag.String("mixes", "", "the `mixes` to run, with commas between; all where it is empty")
	round := flag.String("round", "", "run one round of this `mix` here, and print it as JSON")
	logged := flag.String("logged", "", "the same with every decision in the log")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	var err error
	switch {
	case *round != "":
		err = one(*round, func(m mix) (result, error) { return measure(m, unlogged) })
	case *logged != "":
		err = one(*logged, func(m mix) (result, error) {
			return withLog(func(end store) (result, error) { return measure(m, end) })
		})
	default:
		err = run(*peer, *rounds, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "placement: "+err.Error())
		os.Exit(1)
	}
}

// one runs one round in this process, and prints it as JSON.
func one(name string, measured func(mix) (result, error)) error {
	m, err := mixNamed(name)
	if err != nil {
		return err
	}
	r, err := measured(m)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

func run(peer string, rounds int, only string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if peer == "" {
		return errors.New("say where the peer is, as in -peer .bin/swarmkit; `make bench-placement` builds and runs both")
	}
	chosen, err := chosenMixes(only)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var all []comparison
	for _, m := range chosen {
		c := comparison{mix: m}
		for i := range rounds {
			fmt.Fprintf(os.Stderr, "%s: round %d of %d\n", m.name, i+1, rounds)
			ours, err := ask(ctx, self, "-round", m.name)
			if err != nil {
				return err
			}
			theirs, err := ask(ctx, peer, "-mix", m.name)
			if err != nil {
				return err
			}
			logged, err := ask(ctx, self, "-logged", m.name)
			if err != nil {
				return err
			}
			c.ours, c.theirs, c.logged = append(c.ours, ours), append(c.theirs, theirs), append(c.logged, logged)
		}
		all = append(all, c)
	}
	return show(os.Stdout, all)
}

// ask runs a round in a process of its own and reads what it came to.
func ask(ctx context.Context, program string, args ...string) (result, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return result{}, fmt.Errorf("%s %v: %w", program, args, err)
	}
	var r result
	if err := json.Unmarshal(out, &r); err != nil {
		return result{}, fmt.Errorf("%s %v printed no result: %w", program, args, err)
	}
	if r.Placed != r.Instances {
		return result{}, fmt.Errorf("%s %v placed %d instances of %d", program, args, r.Placed, r.Instances)
	}
	return r, nil
}
