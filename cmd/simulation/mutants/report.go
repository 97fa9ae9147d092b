package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// report is the result of a run.
type report struct {
	Seed     uint64         `json:"seed"`
	All      int            `json:"all"`     // number of mutants
	Skipped  map[string]int `json:"skipped"` // places without a mutant, by reason
	Verdicts []verdict      `json:"verdicts"`
	Found    []caught       `json:"found"`
}

// bar is the percentage of the mutants that are not equivalent which the tests must kill.
const bar = 90

// counts is how many mutants there are of each outcome.
type counts struct{ all, killed, equivalent, survived int }

func count(verdicts []verdict) (c counts) {
	for _, v := range verdicts {
		c.all++
		switch v.Outcome {
		case killed:
			c.killed++
		case equivalent:
			c.equivalent++
		case survived:
			c.survived++
		}
	}
	return c
}

// median returns the median time to kill.
func median(verdicts []verdict) float64 {
	var seconds []float64
	for _, v := range verdicts {
		if v.Outcome == killed {
			seconds = append(seconds, v.Seconds)
		}
	}
	if len(seconds) == 0 {
		return 0
	}
	slices.Sort(seconds)
	return seconds[len(seconds)/2]
}

// proved reports whether every found bug is caught, enough mutants are killed, and the list of equivalents is right and short.
func (r report) proved() bool {
	const all = 100
	c := count(r.Verdicts)
	return !slices.ContainsFunc(r.Found, func(c caught) bool { return c.Promise == "" }) && len(r.wronglyListed()) == 0 &&
		c.killed*all >= (c.all-c.equivalent)*bar && c.equivalent*all <= c.all*mostEquivalent
}

// wronglyListed returns the mutants that are listed as equivalent although a test kills them.
func (r report) wronglyListed() []verdict {
	return slices.DeleteFunc(slices.Clone(r.Verdicts), func(v verdict) bool { return v.Outcome != killed || equivalents[v.ID] == "" })
}

func (r report) print(w io.Writer) error {
	const gap = 2
	table := tabwriter.NewWriter(w, 0, 0, gap, ' ', 0)
	if len(r.Found) > 0 {
		_, _ = fmt.Fprintln(table, "FOUND BUG\tPLANTED\tCAUGHT BY\tSECONDS")
		for _, c := range r.Found {
			by := c.Promise
			if by == "" {
				by = "-"
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%.0f\n", c.Name, c.What, by, c.Seconds)
		}
		_, _ = fmt.Fprintln(table)
	}
	r.printGroups(table, "PACKAGE", func(v verdict) string { return v.Package })
	r.printGroups(table, "OPERATOR", func(v verdict) string { return string(v.Operator) })
	printMutants(table, "LISTED AS EQUIVALENT, BUT KILLED", r.wronglyListed())
	for _, f := range []outcome{equivalent, survived} {
		rows := slices.DeleteFunc(slices.Clone(r.Verdicts), func(v verdict) bool { return v.Outcome != f })
		printMutants(table, strings.ToUpper(string(f)), rows)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, r.last())
	return err
}

// printMutants prints a row for each mutant, if there are any.
func printMutants(w io.Writer, title string, rows []verdict) {
	if len(rows) == 0 {
		return
	}
	slices.SortFunc(rows, func(a, b verdict) int { return strings.Compare(a.ID, b.ID) })
	_, _ = fmt.Fprintf(w, "%s\tPOSITION\tWHY\n", title)
	for _, v := range rows {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", v.ID, v.Position, v.By)
	}
	_, _ = fmt.Fprintln(w)
}

// printGroups prints a row of counts for each value of a property.
func (r report) printGroups(w io.Writer, title string, of func(verdict) string) {
	groups := map[string][]verdict{}
	for _, v := range r.Verdicts {
		groups[of(v)] = append(groups[of(v)], v)
	}
	_, _ = fmt.Fprintf(w, "%s\tMUTANTS\tKILLED\tEQUIVALENT\tSURVIVED\n", title)
	for _, name := range sorted(groups) {
		c := count(groups[name])
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\n", name, c.all, c.killed, c.equivalent, c.survived)
	}
	_, _ = fmt.Fprintln(w)
}

func (r report) last() string {
	c := count(r.Verdicts)
	return fmt.Sprintf("mutants %d, killed %d, equivalent %d, survived %d, median seconds to kill %.2f",
		c.all, c.killed, c.equivalent, c.survived, median(r.Verdicts))
}

func (r report) printJSON(w io.Writer) error {
	if err := json.MarshalWrite(w, r, json.Deterministic(true), jsontext.Multiline(true)); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}
