// Command placement measures how fast instances are placed, beside swarmkit's scheduler: the same nodes and the same
// services, one after the other in rounds, each round in a process of its own.
//
// Ours is what a leader does: rounds of coordinator.Turn with their explanations, applied to the state, without a log on
// either side. Swarmkit's is a module of its own in the folder swarmkit, so that the product does not depend on it.
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

`

func main() {
	peer := flag.String("peer", "", "the `program` that runs swarmkit's scheduler")
	rounds := flag.Int("rounds", 3, "how many rounds each mix has")
	only := flag.String("mixes", "", "the `mixes` to run, with commas between; all where it is empty")
	round := flag.String("round", "", "run one round of this `mix` here, and print it as JSON")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(*peer, *rounds, *only, *round); err != nil {
		fmt.Fprintln(os.Stderr, "placement: "+err.Error())
		os.Exit(1)
	}
}

func run(peer string, rounds int, only, round string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if round != "" {
		m, err := mixNamed(round)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(measure(m))
	}
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
			c.ours, c.theirs = append(c.ours, ours), append(c.theirs, theirs)
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
