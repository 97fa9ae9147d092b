package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/cmd/simulation/world"
	"github.com/rookery-project/rookery/coordinator/capsule"
)

// saved returns the capsule of a failure, with the shortest plan that the shrinker found, or else the whole plan of the seed.
func (f failure) saved() (capsule.Capsule, error) {
	plan, broken := world.Draw(f.Seed, f.Beside...), capsule.Broken{Promise: f.Promise, What: f.What, At: f.At}
	if f.Shortest != nil {
		plan, broken = *f.Shortest, f.shortestBreaks
	}
	body, err := json.Marshal(plan, world.Codec)
	made := capsule.Made{By: "simulation", Version: capsule.VersionOf(debug.ReadBuildInfo())}
	return capsule.Capsule{Made: made, Simulated: &capsule.Simulated{Plan: body, Broken: broken}}, err
}

// save writes the capsule of the first failure, and prints how to replay it.
func save(file string, failures []failure) error {
	if len(failures) == 0 {
		fmt.Fprintf(os.Stderr, "simulation: no promise was broken: %s is not written\n", file)
		return nil
	}
	c, err := failures[0].saved()
	if err != nil {
		return err
	}
	body, err := capsule.Write(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, body, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "simulation: replay it with: simulation -capsule %s\n", file)
	return nil
}

// open reads a capsule. It reads at most as much of the file as a capsule may have.
func open(file string) (capsule.Capsule, error) {
	f, err := os.Open(file)
	if err != nil {
		return capsule.Capsule{}, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(io.LimitReader(f, capsule.MaxSize+2))
	if err != nil {
		return capsule.Capsule{}, err
	}
	c, err := capsule.Read(body)
	if err != nil {
		return c, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

// replayCapsule replays what a capsule holds, and prints whether the outcome is the same.
func replayCapsule(ctx context.Context, file string) (int, error) {
	c, err := open(file)
	if err != nil {
		return exitBroken, err
	}
	fmt.Printf("capsule made by %s, version %s\n", c.Made.By, c.Made.Version)
	if c.Recorded != nil {
		return checkRecorded(*c.Recorded), nil
	}
	return replaySimulated(ctx, *c.Simulated)
}

// checkRecorded folds a log, repeats the decisions in it, and prints the first difference.
func checkRecorded(r capsule.Recorded) int {
	fmt.Printf("sequence %d to %d of a log, from %s on, with %d commands\n", r.From, r.To, r.Log[0].Time.Format(time.RFC3339), len(r.Commands))
	f := capsule.Check(r)
	fmt.Printf("folded %d rounds of %d events with their hash chain: the state has hash %s\n", f.Rounds, f.Events, f.Hash)
	fmt.Printf("decided %d rounds once more: %d commands, and %d nodes for instances; %d commands are not in the capsule\n",
		f.Decided, f.Commands, f.Placements, f.Missing)
	if f.Differs != nil {
		fmt.Printf("it differs first in %s\n", f.Differs)
		return exitBroken
	}
	fmt.Println("nothing differs")
	return exitKept
}

// Bounds of a plan that is read from a file: a larger run may never end, or may not fit into memory.
const (
	mostParts   = 100
	mostActions = 100_000
	longest     = 48 * time.Hour
)

// planOf reads the plan of a run.
func planOf(s capsule.Simulated) (p world.Plan, err error) {
	if err := json.Unmarshal(s.Plan, &p, world.Codec, json.RejectUnknownMembers(true)); err != nil {
		return p, fmt.Errorf("this version cannot run the plan of the capsule: %w", err)
	}
	if p.Coordinators < 1 || p.Nodes < 1 || p.Coordinators > mostParts || p.Nodes > mostParts || len(p.Actions) > mostActions ||
		p.Lasts <= 0 || p.Lasts > longest || p.Heartbeat <= 0 {
		return p, fmt.Errorf("the plan of the capsule is out of bounds: %d coordinators, %d nodes and %d actions, with a heartbeat every %s, for %s: "+
			"want 1 to %d coordinators and nodes, at most %d actions, and at most %s",
			p.Coordinators, p.Nodes, len(p.Actions), p.Heartbeat, p.Lasts, mostParts, mostActions, longest)
	}
	return p, nil
}

// replaySimulated runs the plan, prints all that happens, and compares the broken promise with the one in the capsule.
func replaySimulated(ctx context.Context, s capsule.Simulated) (int, error) {
	plan, err := planOf(s)
	if err != nil {
		return exitBroken, err
	}
	w, err := startWorker(ctx)
	if err != nil {
		return exitBroken, err
	}
	before := failure{Seed: plan.Seed, Promise: s.Broken.Promise, What: s.Broken.What, At: s.Broken.At}
	r, err := w.run(task{Plan: plan, Script: true})
	if errors.Is(err, errCrashed) && ctx.Err() == nil {
		return compared(before, &failure{Seed: plan.Seed, Promise: promisePanic, What: err.Error()}), nil
	}
	if err == nil && s.Broken.Promise == promiseDeterminism {
		err = differs(w, plan, &r)
	}
	if err != nil {
		return exitBroken, errors.Join(err, w.stop())
	}
	if err := w.stop(); err != nil {
		return exitBroken, err
	}
	sum := report{Faults: map[world.Kind]int{}}
	sum.add(r)
	var now *failure
	if len(r.Broken) > 0 {
		now = breached(plan.Seed, r.Broken[0])
		sum.Failures = append(sum.Failures, *now)
	}
	printReplay(r, sum)
	return compared(before, now), nil
}

func breached(seed uint64, b world.Breach) *failure {
	return &failure{Seed: seed, Promise: b.Promise, What: b.What, At: b.At.Round(time.Millisecond).String()}
}

// compared prints whether a run breaks the same promise as before, and returns the exit code.
func compared(before failure, now *failure) int {
	switch {
	case now == nil:
		fmt.Printf("kept: nothing is broken by this version; it was: %s\n", before.line())
		return exitKept
	case now.line() == before.line(), now.Promise == before.Promise && (now.Promise == promisePanic || now.Promise == promiseDeterminism):
		fmt.Printf("the same failure: %s\n", now.line())
	default:
		fmt.Printf("another failure: %s\nit was: %s\n", now.line(), before.line())
	}
	return exitBroken
}

// shortestBroken returns how the shortest plan breaks the promise.
func shortestBroken(r world.Result, promise string) capsule.Broken {
	i := max(0, slices.IndexFunc(r.Broken, func(b world.Breach) bool { return b.Promise == promise }))
	b := r.Broken[i]
	return capsule.Broken{Promise: b.Promise, What: b.What, At: b.At.Round(time.Millisecond).String()}
}
