package main

import (
	"fmt"
	"io"
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
		Long: `Show what changed between two places in the log, with a line for each field of a service, slot, operation or node. A place is
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

func printDiff(out io.Writer, d api.Diff) error {
	fmt.Fprintf(out, "From sequence %d (%s) to %d (%s): %d changes\n", d.From.Sequence, d.From.Now.Local().Format(time.RFC3339),
		d.To.Sequence, d.To.Now.Local().Format(time.RFC3339), len(d.Changes))
	for _, c := range d.Changes {
		if _, err := fmt.Fprintf(out, "%s  %s: %s\n", ofWhat(c), c.Field, fromTo(c)); err != nil {
			return err
		}
	}
	return nil
}

// ofWhat names the object of a change in the words that operators use.
func ofWhat(c views.Change) string {
	parts := strings.Split(c.Key, ".")
	switch {
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

func fromTo(c views.Change) string {
	switch {
	case len(c.Before) == 0:
		return "is " + string(c.After)
	case len(c.After) == 0:
		return "was " + string(c.Before) + ", and is gone"
	}
	return string(c.Before) + " → " + string(c.After)
}
