package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rookery-project/rookery/cmd/simulation/world"
)

// printReplay prints the transcript of one run, and its totals.
func printReplay(r world.Result, sum report) {
	fmt.Print(r.Script)
	fmt.Printf("log %s of %d events, run %016x of %d steps\n", r.Log, r.Events, r.Digest, r.Steps)
	fmt.Println(sum.line())
}

// replay runs one seed and prints its transcript. If it must write a capsule, it also looks for the shortest plan.
func (p *pool) replay(ctx context.Context, seed uint64) (int, error) {
	w, err := startWorker(ctx)
	if err != nil {
		return exitBroken, err
	}
	plan := world.Draw(seed, p.beside...)
	r, err := w.run(task{Plan: plan, Script: true})
	if errors.Is(err, errCrashed) && ctx.Err() == nil && p.saveTo != "" {
		return exitBroken, errors.Join(err, save(p.saveTo, []failure{{Seed: seed, Beside: p.beside, Promise: promisePanic, What: err.Error()}}))
	}
	if err != nil {
		return exitBroken, err
	}
	var sum report
	sum.Faults = map[world.Kind]int{}
	sum.add(r)
	for _, b := range r.Broken {
		sum.Failures = append(sum.Failures, failure{Seed: seed, Promise: b.Promise, What: b.What})
	}
	printReplay(r, sum)
	if p.saveTo != "" {
		var found []failure
		if len(r.Broken) > 0 {
			found = append(found, p.explain(ctx, w, plan, r))
		}
		if err := save(p.saveTo, found); err != nil {
			return exitBroken, err
		}
	}
	return sum.code(), w.stop()
}
