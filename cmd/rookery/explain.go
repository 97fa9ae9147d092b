package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/placement"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
)

func explainCommand(l *link) *cobra.Command {
	var out output
	var sequence uint64
	cmd := &cobra.Command{
		Use:   "explain NAMESPACE/NAME[/ORDINAL]",
		Short: "Explain why an instance is on its node, or has none",
		Long: `Explain why the coordinator placed a service's last instance on its node, or why the instance waits. A coordinator repeats the
decision from the log as it was then. It shows every node with the terms of its score, or with the filter that
removed it. Terms that are 0 for all nodes are left out.`,
		Example: `  rookery explain demo/web
  rookery explain demo/web/2
  rookery explain demo/web --sequence 4711     the decision at this sequence of the log
The same with the nats CLI:
  nats req rookery.api.explain '{"service":"demo/web","ordinal":2}'`,
		Args: arguments("NAMESPACE/NAME[/ORDINAL]"),
	}
	out.flag(cmd)
	cmd.Flags().Uint64Var(&sequence, "sequence", 0, "explain the decision at this `sequence` of the log")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := parseTarget(args[0])
		if err != nil {
			return usage(cmd, err)
		}
		q := api.ExplainQuestion{Service: t.service.String(), Sequence: sequence}
		if t.ordinal >= 0 {
			q.Ordinal = new(uint32(t.ordinal))
		}
		b, done, err := l.open("rookery explain")
		if err != nil {
			return err
		}
		defer done()
		var x coordinator.Explanation
		if err := askPast(cmd.Context(), b, "explain", q, &x); err != nil {
			return err
		}
		if out.json() {
			return out.print(cmd.OutOrStdout(), x)
		}
		return printExplanation(cmd.OutOrStdout(), x, t.ordinal)
	}
	return cmd
}

// liftedBy names the flag of rookery node that keeps a filter from removing the node.
var liftedBy = map[string]string{
	"allow_host_port":      " (rookery node --allow-host-port)",
	"allow_engine_context": " (rookery node --allow-engine-context)",
}

// printExplanation writes the explanation as a table. The explanation of an earlier slot counts for the one that was asked for; a negative
// ordinal asked for none.
func printExplanation(w io.Writer, x coordinator.Explanation, asked int) error {
	if asked >= 0 && asked != int(x.Ordinal) {
		if _, err := fmt.Fprintf(w, "%s/%d waits behind slot %d:\n", x.Service, asked, x.Ordinal); err != nil {
			return err
		}
	}
	what := "waits: no node can run it"
	switch {
	case x.Node != "":
		what = "is on " + x.Node
	case x.Holds != "":
		what += ", and " + x.Holds + " is held for it"
	}
	if _, err := fmt.Fprintf(w, "%s/%d %s (sequence %d, %s)\n", x.Service, x.Ordinal, what, x.Sequence, x.Time.Local().Format(time.RFC3339)); err != nil {
		return err
	}
	if h := x.Hold; h != nil {
		if _, err := fmt.Fprintf(w, "%s was held for %s, which had waited since %s\n", h.Node, h.Service, h.Since.Local().Format(time.RFC3339)); err != nil {
			return err
		}
	}
	for _, said := range x.Shunned {
		if _, err := fmt.Fprintln(w, said); err != nil {
			return err
		}
	}
	return printScores(w, x.Nodes)
}

// terms are those of a score, by the heads of their columns.
var terms = []struct {
	head string
	of   func(events.Points) int64
}{
	{"PROFILE", func(p events.Points) int64 { return p.Profile }},
	{"ANTI-AFFINITY", func(p events.Points) int64 { return p.AntiAffinity }},
	{"ZONE", func(p events.Points) int64 { return p.Zone }},
	{"SAME ZONE", func(p events.Points) int64 { return p.SameZone }},
	{"SAME NODE", func(p events.Points) int64 { return p.SameNode }},
	{"SPREAD", func(p events.Points) int64 { return p.Spread }},
	{"FAILURES", func(p events.Points) int64 { return p.Failures }},
}

// printScores writes a row for each node. A term that is 0 for all of them has no column.
func printScores(w io.Writer, nodes []placement.Verdict) error {
	const points = 1000.0
	head, rows := "NODE\tSCORE", make([]string, len(nodes))
	for i, v := range nodes {
		rows[i] = v.Node + "\tremoved by " + v.Removed + liftedBy[v.Removed]
		if v.Removed == "" {
			rows[i] = fmt.Sprintf("%s\t%.3f", v.Node, float64(v.Score)/points)
		}
	}
	for _, term := range terms {
		if !slices.ContainsFunc(nodes, func(v placement.Verdict) bool { return v.Removed == "" && term.of(v.Terms) != 0 }) {
			continue
		}
		head += "\t" + term.head
		for i, v := range nodes {
			rows[i] += "\t"
			if v.Removed == "" {
				rows[i] += fmt.Sprintf("%.3f", float64(term.of(v.Terms))/points)
			}
		}
	}
	return table(w, head, rows)
}
