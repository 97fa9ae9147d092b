package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"time"
)

// keptPlans is the test that runs every plan that is kept, and brokenInPlan the line with which it says what one broke.
const keptPlans = "TestKeptPlans"

var brokenInPlan = regexp.MustCompile(`(?m)^\s+world_test\.go:\d+: (.+?), at \S+: (.+)$`)

// runPlan runs the plan that is kept for the mutant's bug.
func (t trial) runPlan(ctx context.Context, overlay string, v *verdict) error {
	limited, cancel := context.WithTimeout(ctx, t.lasts+grace)
	defer cancel()
	v.Plan = v.Name + ".json"
	began := time.Now()
	cmd := exec.CommandContext(limited, "go", "test", "-count=1", "-v", "-overlay", overlay,
		"-run", "^"+keptPlans+"$/^"+regexp.QuoteMeta(v.Plan)+"$", "./cmd/simulation/world")
	cmd.Dir = t.root
	out, err := cmd.CombinedOutput()
	v.Seconds = time.Since(began).Seconds()
	broken := brokenInPlan.FindSubmatch(out)
	passed := bytes.Contains(out, []byte("--- PASS: "+keptPlans+"/"+v.Plan))
	switch {
	case limited.Err() != nil:
		return fmt.Errorf("the plan of %s: %w", v.Name, limited.Err())
	case err != nil && broken != nil:
		v.Promise, v.How = string(broken[1]), string(broken[2])
	case !passed:
		return fmt.Errorf("the plan of %s was not run:\n%s", v.Name, out)
	}
	return nil
}
