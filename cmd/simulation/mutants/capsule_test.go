package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/coordinator/capsule"
)

// TestACapsuleOfAFailureReproducesIt plants a bug that breaks a promise, and replays the capsule of the failure. With the bug the replay
// ends in the same failure, and without it the replay keeps every promise.
func TestACapsuleOfAFailureReproducesIt(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "bug.json")
	scales := bug{"scale-off-by-one", "a service gets one instance more than was asked for", []edit{{
		"coordinator/operation/back.go", "	if s.Scale == scale {\n", "	if scale++; s.Scale == scale {\n",
	}}}
	buggy, sound := builtWith(t, scales), builtWith(t, bug{})
	out, code := runIn(t, dir, buggy, "-seeds", "20", "-save", file)
	if code != exitUnproved || !strings.Contains(out, "replay it with: simulation -capsule "+file) {
		t.Fatalf("the bug breaks nothing, or no capsule is written: exit %d: %s", code, last(out))
	}
	again, code := runIn(t, dir, buggy, "-capsule", file)
	if code != exitUnproved || !strings.Contains(last(again), "the same failure: seed ") {
		t.Errorf("with the bug: exit %d: %s", code, last(again))
	}
	fixed, code := runIn(t, dir, sound, "-capsule", file)
	if code != 0 || !strings.Contains(last(fixed), "kept: nothing is broken by this version; it was: seed ") {
		t.Errorf("without the bug: exit %d: %s", code, last(fixed))
	}
	if was, is := after(last(fixed), "it was: "), after(last(again), "the same failure: "); was != is || was == "" {
		t.Errorf("the failure was %q, and is %q", was, is)
	}
	t.Log(last(again))
	t.Log(last(fixed))
	if out, code := runIn(t, dir, sound, "-capsule", file, "-seed", "1"); code != exitUsage {
		t.Errorf("a capsule and a seed: exit %d: %s", code, out)
	}
}

// TestACapsuleOfALogIsChecked replays the capsule of a log, and of a log that was changed.
func TestACapsuleOfALogIsChecked(t *testing.T) {
	dir, sound := t.TempDir(), builtWith(t, bug{})
	body, err := os.ReadFile(root + "/events/golden/v1-liveness.json")
	if err != nil {
		t.Fatal(err)
	}
	r := capsule.Recorded{From: 1, Commands: []capsule.Message{}}
	if err := json.Unmarshal(body, &r.Log); err != nil {
		t.Fatal(err)
	}
	r.Log = r.Log[:2000] // up to here this version decides as the one that wrote the log
	for i := range r.Log {
		r.Log[i].Sequence = uint64(i) + 1
	}
	r.To = uint64(len(r.Log))
	write := func(name string) string {
		body, err := capsule.Write(capsule.Capsule{Recorded: &r})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if out, code := runIn(t, dir, sound, "-capsule", write("log.json")); code != 0 || last(out) != "nothing differs" {
		t.Errorf("a log: exit %d: %s", code, out)
	}
	r.Log[1000].Body += " "
	if out, code := runIn(t, dir, sound, "-capsule", write("changed.json")); code != 1 || !strings.Contains(last(out), "it differs first in round ") {
		t.Errorf("a log that was changed: exit %d: %s", code, out)
	}
}

// builtWith builds the simulation with the bug.
func builtWith(t *testing.T, b bug) string {
	t.Helper()
	dir := t.TempDir()
	folder := absolute(t, root)
	overlay, err := b.plant(folder, dir)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "simulation")
	// The flags are those of the Makefile, so that its compiled packages are reused.
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-overlay", overlay, "-o", program, "./cmd/simulation")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s does not build: %v\n%s", b.name, err, out)
	}
	return program
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func runIn(t *testing.T, dir, program string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// last returns the last line.
func last(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func after(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return rest
}
