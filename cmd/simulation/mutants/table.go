package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func (v verdict) caught() bool { return v.Promise != "" }

// count returns how many of the verdicts are on mutants, and how many of these were caught.
func count(verdicts []verdict) (mutants, caught int) {
	for _, v := range verdicts {
		if v.Name == clean.name {
			continue
		}
		mutants++
		if v.caught() {
			caught++
		}
	}
	return mutants, caught
}

// proved reports whether every mutant was caught, and the house as it is was not.
func proved(verdicts []verdict) bool {
	for _, v := range verdicts {
		if v.caught() == (v.Name == clean.name) {
			return false
		}
	}
	return true
}

// show prints what became of the mutants.
func show(w io.Writer, verdicts []verdict, asJSON bool) error {
	mutants, caught := count(verdicts)
	if asJSON {
		err := json.MarshalWrite(w, map[string]any{"mutants": mutants, "caught": caught, "verdicts": verdicts},
			json.Deterministic(true), jsontext.Multiline(true))
		if err == nil {
			_, err = fmt.Fprintln(w)
		}
		return err
	}
	const gap = 2
	table := tabwriter.NewWriter(w, 0, 0, gap, ' ', 0)
	_, _ = fmt.Fprintln(table, "MUTANT\tPLANTED\tCAUGHT BY\tSEEDS\tSECONDS")
	for _, v := range verdicts {
		by, seeds := v.Promise, fmt.Sprint(v.Seeds)
		if by == "" {
			by = "-"
		}
		switch {
		case v.Plan != "":
			seeds = "plan"
		case v.Seeds == 0:
			seeds = "-"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%.0f\n", v.Name, v.What, by, seeds, v.Seconds)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "mutants %d, caught %d\n", mutants, caught)
	return err
}
