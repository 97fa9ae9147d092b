package instrument

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/simulation/mutants/planted"
)

// TestEveryMutantMakesADifference builds a program that carries every operator's mutants, and runs it without a mutant and with each. Without
// one it prints what the original prints. With each it prints something else, or does not end.
func TestEveryMutantMakesADifference(t *testing.T) {
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	const fixture = "cmd/simulation/mutants/instrument/testdata/fixture"
	set, err := Packages(t.Context(), root, fixture)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := set.Overlay(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	original := says(t, build(t, root, fixture), 0)
	program := build(t, root, fixture, "-overlay", overlay)
	if got := says(t, program, 0); got != original {
		t.Fatalf("without a mutant the program prints\n%s\nand the original prints\n%s", got, original)
	}
	missing := map[Operator]bool{Negate: true, Boundary: true, Call: true, Assign: true, Swap: true, Case: true, Return: true}
	for _, m := range set.Mutants {
		delete(missing, m.Operator)
		if says(t, program, m.Number) == original {
			t.Errorf("%s at %s makes no difference", m.ID, m.Position)
		}
	}
	if len(missing) > 0 {
		t.Errorf("the fixture has no place for %v", missing)
	}
	t.Logf("%d mutants; skipped: %v", len(set.Mutants), set.Skipped)
}

func build(t *testing.T, root, pkg string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "fixture")
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-trimpath"}, flags...), "-o", program, "./"+pkg)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// says returns the output of the program with a mutant, and how it ends.
func says(t *testing.T, program string, mutant uint16) string {
	t.Helper()
	limited, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	cmd := exec.CommandContext(limited, program)
	cmd.Env = append(os.Environ(), "GOMEMLIMIT=100MiB")
	if mutant != 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", planted.Variable, mutant))
	}
	out, err := cmd.Output()
	return fmt.Sprintf("%s%v", out, err)
}
