package main

import (
	"context"
	"fmt"

	"github.com/rookery-project/rookery/cmd/simulation/world"
)

// printReplay prints the transcript of one run, and what it came to.
func printReplay(r world.Result, sum report) {
	fmt.Print(r.Script)
	fmt.Printf("log %s of %d events, run %016x of %d steps\n", r.Log, r.Events, r.Digest, r.Steps)
	fmt.Println(sum.line())
}

// replay runs one seed and prints all that happens.
func replay(ctx context.Context, seed uint64) (int, error) {
	w, err := startWorker(ctx)
	if err != nil {
		return exitBroken, err
	}
	r, err := w.run(task{Plan: world.Draw(seed), Script: true})
	if err != nil {
		return exitBroken, err
	}
	if err := w.stop(); err != nil {
		return exitBroken, err
	}
	var sum report
	sum.Faults = map[world.Kind]int{}
	sum.add(r)
	for _, b := range r.Broken {
		sum.Failures = append(sum.Failures, failure{Seed: seed, Promise: b.Promise, What: b.What})
	}
	printReplay(r, sum)
	return sum.code(), nil
}
