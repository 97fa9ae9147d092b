package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
)

// trial has the simulation judge one house.
type trial struct {
	root  string
	seeds int
	// lasts is how long the simulation may take for all seeds together.
	lasts time.Duration
}

// verdict is what a trial came to.
type verdict struct {
	Name string `json:"mutant"`
	What string `json:"planted"`
	// Promise is the one that was broken, or "panic" or "hang"; "" where the house kept them all.
	Promise string  `json:"caught_by,omitempty"`
	How     string  `json:"how,omitempty"`
	Seeds   int     `json:"seeds"`          // to catch it, or all that ran
	Plan    string  `json:"plan,omitempty"` // that it was tried by, in place of seeds
	Seconds float64 `json:"seconds"`
}

// grace is how much longer than it may a simulation is waited for: a house that spins at one moment of its time never
// comes to the end of a seed.
const grace = time.Minute

// run plants the mutant's bug and has the house simulated with it: by the plan that is kept for it, or by seeds. The house
// as it is, is the mutant without edits.
func (t trial) run(ctx context.Context, m mutant) (verdict, error) {
	v := verdict{Name: m.name, What: m.what}
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return v, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := m.plant(t.root, dir)
	if err != nil {
		return v, err
	}
	if m.hasPlan() {
		err := t.runPlan(ctx, overlay, &v)
		return v, err
	}
	program, err := t.build(ctx, m, overlay, dir)
	if err != nil {
		return v, err
	}
	began := time.Now()
	err = t.simulate(ctx, program, m.flags(), dir, &v)
	v.Seconds = time.Since(began).Seconds()
	return v, err
}

func (t trial) build(ctx context.Context, m mutant, overlay, dir string) (string, error) {
	program := filepath.Join(dir, "simulation")
	// With the flags of the Makefile: what it has compiled serves here too.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-overlay", overlay, "-o", program, "./cmd/simulation")
	cmd.Dir, cmd.Env = t.root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s does not build: %w\n%s", m.name, err, out)
	}
	return program, nil
}

// report is what the simulation prints at its end.
type report struct {
	Seeds  int `json:"seeds"`
	Broken []struct {
		Seed    int    `json:"seed"`
		Promise string `json:"promise"`
		What    string `json:"what"`
	} `json:"broken"`
}

// simulate runs the program to its end and reads what it found.
func (t trial) simulate(ctx context.Context, program string, flags []string, dir string, v *verdict) error {
	limited, cancel := context.WithTimeout(ctx, t.lasts+grace)
	defer cancel()
	args := []string{"-seeds", strconv.Itoa(t.seeds), "-for", t.lasts.String(), "-output", "json"}
	cmd := exec.CommandContext(limited, program, append(args, flags...)...)
	cmd.Dir = dir // whatever it leaves behind goes with it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	var r report
	switch readErr := json.Unmarshal(out.Bytes(), &r); {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		v.Promise, v.How = "hang", fmt.Sprintf("it did not end within %s", t.lasts+grace)
	case err == nil && readErr == nil && len(r.Broken) == 0:
		v.Seeds = r.Seeds
	case readErr == nil && len(r.Broken) > 0:
		b := r.Broken[0]
		v.Promise, v.How, v.Seeds = b.Promise, b.What, b.Seed
	case panicked(said.String()):
		v.Promise, v.How = "panic", panicOf(said.String())
	default:
		return fmt.Errorf("the simulation of %s: %w\n%s%s", v.Name, errors.Join(err, readErr), out.Bytes(), said.Bytes())
	}
	return nil
}

func panicked(said string) bool { return panicOf(said) != "" }

// panicOf returns the line with which a process says why it died, or "".
func panicOf(said string) string {
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
