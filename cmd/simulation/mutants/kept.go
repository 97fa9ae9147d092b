package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"time"
)

// keptPlans is the test that runs every plan that is kept, and brokenInPlan the line with which it says what one broke.
const keptPlans = "TestKeptPlans"

var brokenInPlan = regexp.MustCompile(`(?m)^\s+world_test\.go:\d+: (.+?), at \S+: (.+)$`)

// planLimit is how long the build and the run of one plan may take.
const planLimit = 10 * time.Minute

// caught is what the plan of a found bug came to.
type caught struct {
	Name string `json:"bug"`
	What string `json:"planted"`
	// Promise is the one that was broken; "" where the bug was not caught.
	Promise string  `json:"caught_by,omitempty"`
	How     string  `json:"how,omitempty"`
	Seconds float64 `json:"seconds"`
}

// tryFound puts each bug back, and runs the plan that is kept for it.
func tryFound(ctx context.Context, root string, bugs []bug, told *progress) ([]caught, error) {
	var all []caught
	for _, b := range bugs {
		told.say("found bugs: %d of %d, now %s", len(all), len(bugs), b.name)
		c, err := b.try(ctx, root)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (b bug) try(ctx context.Context, root string) (caught, error) {
	c := caught{Name: b.name, What: b.what}
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return c, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := b.plant(root, dir)
	if err != nil {
		return c, err
	}
	limited, cancel := context.WithTimeout(ctx, planLimit)
	defer cancel()
	plan, began := b.name+".json", time.Now()
	cmd := exec.CommandContext(limited, "go", "test", "-count=1", "-vet=off", "-v", "-overlay", overlay,
		"-run", "^"+keptPlans+"$/^"+regexp.QuoteMeta(plan)+"$", "./cmd/simulation/world")
	cmd.Dir = root
	asGroup(cmd)
	out, err := cmd.CombinedOutput()
	c.Seconds = time.Since(began).Seconds()
	broken := brokenInPlan.FindSubmatch(out)
	passed := bytes.Contains(out, []byte("--- PASS: "+keptPlans+"/"+plan))
	switch {
	case limited.Err() != nil:
		return c, fmt.Errorf("the plan of %s: %w", b.name, limited.Err())
	case err != nil && broken != nil:
		c.Promise, c.How = string(broken[1]), string(broken[2])
	case !passed:
		return c, fmt.Errorf("the plan of %s was not run:\n%s", b.name, out)
	}
	return c, nil
}
