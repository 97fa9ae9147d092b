// Command mutants proves the simulation: it plants one bug after the other into the house and has the simulation catch
// it. A bug that goes by unseen would go by in earnest, too.
//
// The bugs are planted into copies that the compiler reads in place of the sources; the house itself has no hooks.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The exit codes.
const (
	exitUncaught = 1 // a mutant was not caught, the house as it is breaks a promise, or something did not work
	exitUsage    = 2
	exitSignal   = 130
)

// clean is the house as it is.
var clean = mutant{name: "none", what: "the house as it is"}

func main() { os.Exit(run()) }

func run() int {
	only := flag.String("only", "", "run the mutant of this `name` alone")
	seeds := flag.Int("seeds", 300, "how many `seeds` each mutant has to be caught in")
	lasts := flag.Duration("for", 10*time.Minute, "how `long` each mutant is simulated at most")
	output := flag.String("output", "table", "what is printed: table or json")
	flag.Parse()
	mutants := chosen(*only)
	if len(mutants) == 0 || flag.NArg() > 0 || (*output != "table" && *output != "json") {
		fmt.Fprintf(os.Stderr, "mutants: no mutant %q, or wrong arguments; there are:\n", *only)
		for _, m := range all() {
			fmt.Fprintf(os.Stderr, "  %-34s %s\n", m.name, m.what)
		}
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := houseRoot(ctx)
	if err != nil {
		return failed(err)
	}
	verdicts, err := tryAll(ctx, trial{root: root, seeds: *seeds, lasts: *lasts}, mutants)
	if err != nil {
		return failed(err)
	}
	if err := show(os.Stdout, verdicts, *output == "json"); err != nil {
		return failed(err)
	}
	if !proved(verdicts) {
		return exitUncaught
	}
	return 0
}

func failed(err error) int {
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "mutants: interrupted")
		return exitSignal
	}
	fmt.Fprintln(os.Stderr, "mutants: "+err.Error())
	return exitUncaught
}

func chosen(only string) []mutant {
	var found []mutant
	for _, m := range all() {
		if only == "" || m.name == only {
			found = append(found, m)
		}
	}
	return found
}

// houseRoot returns the folder of the module.
func houseRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	file := strings.TrimSpace(string(out))
	if err == nil && filepath.Base(file) != "go.mod" {
		err = errors.New("not inside the module: run this in the repository")
	}
	return filepath.Dir(file), err
}

// tryAll tries each mutant, and then the house as it is in as many seeds as the mutants took: a seed that breaks it
// proves nothing of them.
func tryAll(ctx context.Context, t trial, mutants []mutant) ([]verdict, error) {
	const few = 20
	reach := min(t.seeds, few)
	var verdicts []verdict
	for _, m := range append(mutants, clean) {
		if m.name == clean.name {
			t.seeds = reach
		}
		v, err := t.run(ctx, m)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		progress(v)
		verdicts = append(verdicts, v)
		if v.caught() {
			reach = max(reach, v.Seeds)
		}
	}
	return verdicts, nil
}

func progress(v verdict) {
	fate := "keeps every promise"
	if v.caught() {
		fate = fmt.Sprintf("breaks %s: %s", v.Promise, v.How)
	}
	by := fmt.Sprintf("seed %d", v.Seeds)
	if v.Plan != "" {
		by = "its plan"
	}
	fmt.Fprintf(os.Stderr, "%s: %s, %.0f s: %s\n", v.Name, by, v.Seconds, fate)
}
