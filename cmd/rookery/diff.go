package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

func diffCommand(l *link) *cobra.Command {
	var out output
	var only parts
	var from, to string
	cmd := &cobra.Command{
		Use:   "diff --from PLACE [--to PLACE]",
		Short: "Show what changed between two places in the log",
		Long: `Show what changed between two places in the log, with a line for each field of a service, slot, operation, node or the policy. One
that is new or gone has a line as a whole; --output json has all its fields. A place is
` + placeForms + `.
A place inside a round means the last round that ended before it.`,
		Example: `  rookery diff --from 10m
  rookery diff --from 2026-11-01T12:00Z --to 2026-11-01T13:00Z --service demo/web
  rookery diff --from 4711 --to 4800 --output json
The same with the nats CLI:
  nats req rookery.api.diff '{"from":4711,"to":"2026-11-01T13:00:00Z"}'`,
		Args: arguments(),
	}
	out.flag(cmd)
	only.flags(cmd)
	cmd.Flags().StringVar(&from, "from", "", "first `place`")
	cmd.Flags().StringVar(&to, "to", "", "last `place` (default the end of the log)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if from == "" {
			return usage(cmd, fmt.Errorf("diff needs a place to start from: give --from"))
		}
		now := time.Now()
		first, err := parsePlace(from, now)
		if err != nil {
			return usage(cmd, fmt.Errorf("--from %w", err))
		}
		last, err := parsePlace(to, now)
		if err != nil {
			return usage(cmd, fmt.Errorf("--to %w", err))
		}
		if err := only.check(cmd); err != nil {
			return err
		}
		b, done, err := l.open("rookery diff")
		if err != nil {
			return err
		}
		defer done()
		q := api.DiffQuestion{From: first.value(), To: last.value(), Service: only.service, Node: only.node}
		var d api.Diff
		if err := askPast(cmd.Context(), b, "diff", q, &d); err != nil {
			return err
		}
		if out.json() {
			return out.print(cmd.OutOrStdout(), d)
		}
		return printDiff(cmd.OutOrStdout(), d)
	}
	return cmd
}

// value returns the place in the form that questions to a coordinator take.
func (p place) value() jsontext.Value {
	switch {
	case p.sequence > 0:
		return fmt.Appendf(nil, "%d", p.sequence)
	case !p.time.IsZero():
		return fmt.Appendf(nil, "%q", p.time.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

// printDiff writes a line for each field that differs, and one for each object that is new or gone.
func printDiff(out io.Writer, d api.Diff) error {
	var lines []string
	for len(d.Changes) > 0 {
		of := d.Changes[0]
		count := slices.IndexFunc(d.Changes, func(c views.Change) bool { return c.Bucket != of.Bucket || c.Key != of.Key })
		if count < 0 {
			count = len(d.Changes)
		}
		told, err := changesOf(d.Changes[:count])
		if err != nil {
			return err
		}
		for _, t := range told {
			lines = append(lines, ofWhat(of)+"  "+t)
		}
		d.Changes = d.Changes[count:]
	}
	fmt.Fprintf(out, "From sequence %d (%s) to %d (%s): %d changes\n", d.From.Sequence, d.From.Now.Local().Format(time.RFC3339),
		d.To.Sequence, d.To.Now.Local().Format(time.RFC3339), len(lines))
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// telling are the fields that a line about a new object has.
var telling = []string{"state", "kind", "status", "node", "generation", "revision", "scale", "addresses"}

// changesOf describes the changes of one object. Each value has the field name, so the object is new or gone if that field is.
func changesOf(changes []views.Change) (told []string, err error) {
	name := slices.IndexFunc(changes, func(c views.Change) bool { return c.Field == "name" })
	switch {
	case name >= 0 && len(changes[name].After) == 0:
		return []string{"is gone"}, nil
	case name >= 0:
		var what []string
		for _, field := range telling {
			if i := slices.IndexFunc(changes, func(c views.Change) bool { return c.Field == field }); i >= 0 {
				what = append(what, field+" "+string(changes[i].After))
			}
		}
		return []string{strings.TrimSuffix("is new: "+strings.Join(what, ", "), ": ")}, nil
	}
	for _, c := range changes {
		before, err := decoded(c.Before)
		if err != nil {
			return nil, err
		}
		after, err := decoded(c.After)
		if err != nil {
			return nil, err
		}
		fields, err := appendDifferences(nil, c.Field, before, after)
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			told = append(told, f.String())
		}
	}
	return told, nil
}

// ofWhat names the object of a change in the words that operators use.
func ofWhat(c views.Change) string {
	parts := strings.Split(c.Key, ".")
	switch {
	case c.Bucket == api.PolicyKey.Bucket:
		return "policy"
	case c.Bucket == bus.BucketNodes:
		return "node " + c.Key
	case c.Bucket == bus.BucketInstances && len(parts) > 2:
		return "slot " + parts[0] + "/" + parts[1] + "/" + parts[2]
	case c.Bucket == bus.BucketEndpoints && len(parts) > 2:
		return "port " + parts[0] + "/" + parts[1] + " " + parts[2]
	case c.Bucket == bus.BucketOperations:
		return "operation of " + strings.Replace(c.Key, ".", "/", 1)
	}
	return "service " + strings.Replace(c.Key, ".", "/", 1)
}
