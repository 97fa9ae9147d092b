package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// keptPlans is the test that runs every kept plan. brokenInPlan matches the line in which it reports a broken promise.
const keptPlans = "TestKeptPlans"

var brokenInPlan = regexp.MustCompile(`(?m)^\s+world_test\.go:\d+: (.+?), at \S+: (.+)$`)

// keptFolder holds the kept plans.
const keptFolder = simulator + "/testdata/kept"

// planLimit is how long the build and the run of one plan may take.
const planLimit = 10 * time.Minute

// caught is the result of the plan or the test of a found bug.
type caught struct {
	Name string `json:"bug"`
	What string `json:"planted"`
	// Promise is the broken promise; "" if neither the plan nor the test caught the bug.
	Promise string  `json:"caught_by,omitempty"`
	How     string  `json:"how,omitempty"`
	Seconds float64 `json:"seconds"`
}

// tryFound puts each bug back, and runs its kept plan or its test.
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
	began := time.Now()
	if b.hasPlan(root) {
		if err := c.byPlan(limited, root, overlay, b.name+".json"); err != nil {
			return c, err
		}
	}
	if by, beside := besidePlans[b.name]; beside && c.Promise == "" {
		err = c.byTest(limited, root, overlay, by)
	}
	c.Seconds = time.Since(began).Seconds()
	return c, err
}

// hasPlan reports whether the bug has a kept plan. The simulation cannot meet a bug in what it replaces.
func (b bug) hasPlan(root string) bool {
	_, err := os.Stat(filepath.Join(root, keptFolder, b.name+".json"))
	return err == nil
}

// byPlan runs the kept plan of the bug.
func (c *caught) byPlan(ctx context.Context, root, overlay, plan string) error {
	out, failed, err := tested(ctx, root, overlay, "^"+keptPlans+"$/^"+regexp.QuoteMeta(plan)+"$", "./"+simulator)
	if err != nil {
		return fmt.Errorf("the plan of %s: %w", c.Name, err)
	}
	broken := brokenInPlan.FindSubmatch(out)
	switch {
	case failed && broken != nil:
		c.Promise, c.How = string(broken[1]), string(broken[2])
	case !bytes.Contains(out, []byte("--- PASS: "+keptPlans+"/"+plan)):
		return fmt.Errorf("the plan of %s was not run:\n%s", c.Name, out)
	}
	return nil
}

// byTest runs the test that besidePlans names for the bug.
func (c *caught) byTest(ctx context.Context, root, overlay string, by test) error {
	out, failed, err := tested(ctx, root, overlay, pattern(by.name), "./"+by.pkg)
	switch {
	case err != nil:
		return fmt.Errorf("the test of %s: %w", c.Name, err)
	case failed && bytes.Contains(out, []byte("--- FAIL: "+by.name)):
		c.Promise, c.How = by.name, "a test of "+by.pkg
	case !bytes.Contains(out, []byte("--- PASS: "+by.name)):
		return fmt.Errorf("the test of %s was not run:\n%s", c.Name, out)
	}
	return nil
}

// tested runs tests with the overlay, and reports whether one failed.
func tested(ctx context.Context, root, overlay, pattern, pkg string) (out []byte, failed bool, err error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-vet=off", "-v", "-overlay", overlay, "-run", pattern, pkg)
	cmd.Dir = root
	asGroup(cmd)
	out, err = cmd.CombinedOutput()
	return out, err != nil, ctx.Err()
}
