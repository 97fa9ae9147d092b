package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/cmd/simulation/world"
	"github.com/rookery-project/rookery/coordinator/capsule"
)

// failure is a seed that broke a promise.
type failure struct {
	Seed    uint64 `json:"seed"`
	Promise string `json:"promise"`
	What    string `json:"what"`
	At      string `json:"at,omitempty"`
	// Beside holds the kinds of faults that the command line named.
	Beside []world.Kind `json:"beside,omitempty"`
	// Shortest is the plan that is left after shrinking, and Script its transcript.
	Shortest *world.Plan `json:"shortest,omitempty"`
	Script   string      `json:"-"`
	// shortestBreaks is how that plan breaks the promise.
	shortestBreaks capsule.Broken
}

// The promises of the simulation itself. All others are Rookery's.
const (
	promisePanic       = "panic"
	promiseDeterminism = "determinism"
)

// report sums up many runs.
type report struct {
	First     uint64
	Seeds     int
	Twice     int
	Steps     int
	Commands  int
	Events    uint64
	Rounds    uint64
	Simulated time.Duration
	Faults    map[world.Kind]int
	Failures  []failure
	Workers   int
	Wall      time.Duration
}

func (r *report) add(one world.Result) {
	r.Seeds++
	r.Steps += one.Steps
	r.Commands += one.Commands
	r.Events += one.Events
	r.Rounds += one.Rounds
	r.Simulated += one.Simulated
	for kind, n := range one.Faults {
		r.Faults[kind] += n
	}
}

func (r *report) faults() int {
	sum := 0
	for _, n := range r.Faults {
		sum += n
	}
	return sum
}

func (r *report) code() int {
	if len(r.Failures) > 0 {
		return exitBroken
	}
	return exitKept
}

// line returns the totals.
func (r *report) line() string {
	return fmt.Sprintf("seeds %d, simulated %.1f h, faults %d, promises broken %d",
		r.Seeds, r.Simulated.Hours(), r.faults(), len(r.Failures))
}

// print writes the report for the person who runs the simulation.
func (r *report) print(w io.Writer) {
	for _, f := range r.Failures {
		f.print(w)
	}
	if hours := r.Simulated.Hours(); hours > 0 {
		fmt.Fprintf(w, "%-16s from %d on; %d were run twice\n", "seeds", r.First, r.Twice)
		fmt.Fprintf(w, "%-16s %d, of %d rounds and %d events in the log\n", "steps", r.Steps, r.Rounds, r.Events)
		fmt.Fprintf(w, "%-16s %d, %.0f in a simulated hour\n", "commands", r.Commands, float64(r.Commands)/hours)
		fmt.Fprintf(w, "%-16s %d, %.0f in a simulated hour\n", "faults", r.faults(), float64(r.faults())/hours)
		kinds := slices.SortedFunc(maps.Keys(r.Faults), func(a, b world.Kind) int {
			return cmp.Or(cmp.Compare(r.Faults[b], r.Faults[a]), cmp.Compare(a, b))
		})
		for _, kind := range kinds {
			fmt.Fprintf(w, "  %-14s %d\n", kind, r.Faults[kind])
		}
		core := r.Wall.Seconds() * float64(r.Workers)
		fmt.Fprintf(w, "%-16s %.1f simulated hours in a second of %d cores; a step takes a core %.1f µs\n", "rate",
			hours/r.Wall.Seconds(), r.Workers, core/float64(max(r.Steps, 1))*1e6)
	}
	for _, f := range r.Failures {
		fmt.Fprintln(w, f.line()) // again at the end: a reader who keeps only the end of a long output has the seed
	}
	fmt.Fprintln(w, r.line())
}

// line returns which seed broke which promise, and how.
func (f failure) line() string {
	line := fmt.Sprintf("seed %d broke %s", f.Seed, f.Promise)
	if f.At != "" {
		line += " at " + f.At
	}
	return line + ": " + f.What
}

func (f failure) print(w io.Writer) {
	fmt.Fprintln(w, f.line())
	if f.Shortest == nil {
		return
	}
	fmt.Fprintf(w, "\nthe shortest plan found that breaks it: %d coordinators, %d nodes with %d ports, %s\n",
		f.Shortest.Coordinators, f.Shortest.Nodes, f.Shortest.Ports, f.Shortest.Lasts.Round(time.Second))
	for _, a := range f.Shortest.Actions {
		fmt.Fprintf(w, "  %s\n", a)
	}
	fmt.Fprintf(w, "\nits transcript:\n%s\n", f.Script)
	if body, err := json.Marshal(f.Shortest, world.Codec); err == nil {
		fmt.Fprintf(w, "the plan, to keep in cmd/simulation/world/testdata/kept:\n%s\n\n", body)
	}
	fmt.Fprintf(w, "replay the whole seed with: simulation -seed %d; add -save bug.json to write a capsule\n\n", f.Seed)
}

// printJSON writes the report for scripts.
func (r *report) printJSON(w io.Writer) error {
	broken := r.Failures
	if broken == nil {
		broken = []failure{}
	}
	body, err := json.Marshal(map[string]any{
		"first": r.First, "seeds": r.Seeds, "twice": r.Twice, "steps": r.Steps, "commands": r.Commands, "events": r.Events, "rounds": r.Rounds,
		"simulated_hours": r.Simulated.Hours(), "faults": r.faults(), "faults_by_kind": r.Faults,
		"wall_seconds": r.Wall.Seconds(), "workers": r.Workers, "broken": broken,
	}, world.Codec)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(body))
	return err
}
