package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner/api"
)

func explainCommand(l *link) *cobra.Command {
	var out output
	var sequence uint64
	cmd := &cobra.Command{
		Use:   "explain NAMESPACE/NAME[/ORDINAL]",
		Short: "Explain why an instance is on its node, or has none",
		Long: `Explain why the coordinator placed a service's last instance on its node, or why the instance waits. A coordinator repeats the
decision from the log as it was then. It shows every node with the terms of its score, or with the filter that removed it.`,
		Example: `  rookery explain demo/web
  rookery explain demo/web/2
  rookery explain demo/web --sequence 4711     the decision at this sequence of the log
The same with the nats CLI:
  nats req rookery.api.explain '{"service":"demo/web","ordinal":2}'`,
		Args: cobra.ExactArgs(1),
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
		return printExplanation(cmd.OutOrStdout(), x)
	}
	return cmd
}

// liftedBy names the flag of rookery node that keeps a filter from removing the node.
var liftedBy = map[string]string{
	"allow_host_port":      " (rookery node --allow-host-port)",
	"allow_engine_context": " (rookery node --allow-engine-context)",
}

// printExplanation writes the explanation as a table.
func printExplanation(w io.Writer, x coordinator.Explanation) error {
	what := "waits: no node can run it"
	switch {
	case x.Node != "":
		what = "is on " + x.Node
	case x.Holds != "":
		what += ", and " + x.Holds + " is held for it"
	}
	if _, err := fmt.Fprintf(w, "%s/%d %s (sequence %d, %s)\n", x.Service, x.Ordinal, what, x.Sequence, x.Time.Format(time.RFC3339)); err != nil {
		return err
	}
	if h := x.Hold; h != nil {
		if _, err := fmt.Fprintf(w, "%s was held for %s, which had waited since %s\n", h.Node, h.Service, h.Since.Format(time.RFC3339)); err != nil {
			return err
		}
	}
	for _, said := range x.Shunned {
		if _, err := fmt.Fprintln(w, said); err != nil {
			return err
		}
	}
	const points = 1000.0
	rows := make([]string, len(x.Nodes))
	for i, v := range x.Nodes {
		if v.Removed != "" {
			rows[i] = fmt.Sprintf("%s\tremoved by %s%s\t\t\t\t\t\t\t", v.Node, v.Removed, liftedBy[v.Removed])
			continue
		}
		t := v.Terms
		rows[i] = fmt.Sprintf("%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f", v.Node, float64(v.Score)/points, float64(t.Profile)/points,
			float64(t.AntiAffinity)/points, float64(t.Zone)/points, float64(t.SameZone)/points, float64(t.SameNode)/points, float64(t.Spread)/points,
			float64(t.Failures)/points)
	}
	return table(w, "NODE\tSCORE\tPROFILE\tANTI-AFFINITY\tZONE\tSAME ZONE\tSAME NODE\tSPREAD\tFAILURES", rows)
}
