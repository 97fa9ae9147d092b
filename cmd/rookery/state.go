package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

func stateCommand(l *link) *cobra.Command {
	var out output
	var only parts
	var at, folder string
	var sequence uint64
	cmd := &cobra.Command{
		Use:   "state [--at TIME | --seq N]",
		Short: "Show the whole cluster, now or at a time in its past",
		Long: `Show services, instances and nodes, now or, with --at or --seq, at the end of the last round that ended before that place. A
coordinator folds the log from the nearest snapshot. With --archive this command folds the part that the log no longer has.

An answer has at most 48 MiB. For a larger state, limit it with --service or --node.`,
		Example: `  rookery state --at 2026-11-01T12:00Z
  rookery state --at 90m --service demo/web
  rookery state --seq 4711 --output json
The same with the nats CLI:
  nats req rookery.api.state '{"at_seq":4711}'`,
		Args: arguments(),
	}
	out.flag(cmd)
	only.flags(cmd)
	cmd.Flags().StringVar(&at, "at", "", "show the state at this `time`, as in 2026-11-01T12:00Z, or this long ago, as in 90m")
	cmd.Flags().Uint64Var(&sequence, "seq", 0, "show the state at this `sequence` of the log")
	archiveFlag(cmd, &folder)
	cmd.MarkFlagsMutuallyExclusive("at", "seq")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		where, err := parsePlace(at, time.Now())
		if err != nil {
			return usage(cmd, err)
		}
		if err := only.check(cmd); err != nil {
			return err
		}
		b, done, err := l.open("rookery state")
		if err != nil {
			return err
		}
		defer done()
		q := api.StateQuestion{AtSeq: max(sequence, where.sequence), AtTime: where.time, Service: only.service, Node: only.node}
		if q.AtSeq == 0 && q.AtTime.IsZero() {
			if q.AtSeq, err = where.find(cmd.Context(), b); err != nil {
				return err
			}
		}
		var past api.PastState
		err = askPast(cmd.Context(), b, "state", q, &past)
		if folder != "" && bus.CodeOf(err) == notFound {
			past, err = archivedState(cmd.Context(), b, folder, q)
		}
		if err != nil {
			return err
		}
		if out.json() {
			return out.print(cmd.OutOrStdout(), past)
		}
		return printState(cmd.OutOrStdout(), past)
	}
	return cmd
}

// archivedState folds the archive if the log no longer has the place.
func archivedState(ctx context.Context, b *bus.JetStream, folder string, q api.StateQuestion) (past api.PastState, err error) {
	state, err := stateOfLog(ctx, b)
	if err != nil {
		return past, err
	}
	a, err := openArchive(folder, state.Identity)
	if err != nil {
		return past, err
	}
	at, err := a.find(ctx, b, place{sequence: q.AtSeq, time: q.AtTime})
	if err != nil {
		return past, err
	}
	c, err := a.foldTo(ctx, at)
	if err != nil {
		return past, err
	}
	return api.PastOf(c, q.Service, q.Node, "")
}

func printState(out io.Writer, past api.PastState) error {
	fmt.Fprintf(out, "State at sequence %d of the log, the end of round %d, of %s: %d services, %d nodes, %d commands open\n",
		past.Sequence, past.Round, past.Now.Local().Format(time.RFC3339), past.Services, past.Nodes, past.Open)
	for _, shunned := range past.Shunned {
		fmt.Fprintln(out, shunned)
	}
	services, err := each[views.Service](past.Views[bus.BucketServices])
	if err != nil {
		return err
	}
	rows := make([]string, len(services))
	for i, s := range services {
		rows[i] = fmt.Sprintf("%s/%s\t%s\t%d\t%d of %d\t%s", s.Namespace, s.Name, s.State, s.Revision, s.Online, s.Scale, s.Spec.Image)
	}
	if err := section(out, "SERVICE\tSTATE\tREVISION\tONLINE\tIMAGE", rows); err != nil {
		return err
	}
	instances, err := each[views.Instance](past.Views[bus.BucketInstances])
	if err != nil {
		return err
	}
	rows = nil
	for _, v := range withNext(instances) {
		rows = append(rows, fmt.Sprintf("%s/%s\t%d\t%d\t%s\t%s\t%s", v.Namespace, v.Name, v.Ordinal, v.Generation, v.Node, statusWords(v), addresses(v)))
	}
	if err := section(out, "INSTANCE OF\tORDINAL\tGENERATION\tNODE\tSTATUS\tADDRESSES", rows); err != nil {
		return err
	}
	nodes, err := each[views.Node](past.Views[bus.BucketNodes])
	if err != nil {
		return err
	}
	rows = make([]string, len(nodes))
	for i, v := range nodes {
		rows[i] = fmt.Sprintf("%s\t%s\t%s\t%s", v.Name, v.State, v.Zone, instanceWords(v))
	}
	return section(out, "NODE\tSTATE\tZONE\tINSTANCES", rows)
}

// section prints a table below an empty line, unless it has no rows.
func section(out io.Writer, head string, rows []string) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return table(out, head, rows)
}

// each reads the values of a bucket, in order of their keys.
func each[T any](values map[string]jsontext.Value) ([]T, error) {
	all := make([]T, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		var v T
		if err := json.Unmarshal(values[key], &v); err != nil {
			return nil, fmt.Errorf("read the value of %s: %w", key, err)
		}
		all = append(all, v)
	}
	return all, nil
}
