package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

func planCommand(l *link) *cobra.Command {
	var out output
	var file string
	cmd := &cobra.Command{
		Use:   "plan NAMESPACE/NAME --file FILE",
		Short: "Show what a spec would do to every slot of a service",
		Long: `Show what ensure with this spec would do to every slot of a service, if the command came now and nothing else changed. Actions:
none (the instance stays), in-place (it stays and gets the new revision), create, replace (on the same node), move (to another
node), destroy, and wait (no node can run the successor). The plan also gives the wave, whether the successor starts first, and why
the coordinator picks the node.

A plan holds at one sequence of the log. To send the command only if the service has not changed since, use ensure with --if-seq.

Exit codes: 0 planned, 1 error, 2 wrong usage, 3 the command would be rejected or wait, 130 Ctrl-C.`,
		Example: `  rookery plan demo/web --file web.yaml
  rookery ensure demo/web --file web.yaml --if-seq 4711
The same with the nats CLI:
  nats req rookery.api.plan '{"namespace":"demo","name":"web","verb":"ensure","body":{"image":"localhost/web:2"}}'`,
		Args: arguments("NAMESPACE/NAME"),
	}
	out.flag(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "`file` with the spec, as YAML or JSON; - for standard input")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := events.ParseServiceID(args[0])
		if err != nil {
			return usage(cmd, err)
		}
		if file == "" {
			return usage(cmd, fmt.Errorf("plan needs a spec: give --file"))
		}
		body, err := readOne(cmd.InOrStdin(), file, args[0], "service", "job")
		if err != nil {
			return err
		}
		b, done, err := l.open("rookery plan")
		if err != nil {
			return err
		}
		defer done()
		p, err := askPlan(cmd.Context(), b, id, body)
		if err != nil {
			return err
		}
		if out.json() {
			err = out.print(cmd.OutOrStdout(), p)
		} else if p.Rejection == nil {
			err = printPlan(cmd.OutOrStdout(), p)
		}
		if err != nil || p.Rejection == nil {
			return err
		}
		return &codedError{exitRejected, fmt.Errorf("the command would be rejected or wait (%s): %s", p.Rejection.Code, p.Rejection.Reason)}
	}
	return cmd
}

// askPlan asks a coordinator for the plan.
func askPlan(ctx context.Context, b *bus.JetStream, id events.ServiceID, spec []byte) (p coordinator.Plan, err error) {
	if _, err := events.ParseServiceEnsure(spec); err != nil {
		return p, fmt.Errorf("read the spec: %w", located(err))
	}
	q := api.PlanQuestion{Namespace: id.Namespace, Name: id.Name, Verb: events.ServiceEnsure{}.Kind().Name, Body: spec}
	err = askPast(ctx, b, "plan", q, &p)
	return p, err
}

func printPlan(out io.Writer, p coordinator.Plan) error {
	head := fmt.Sprintf("Plan for %s, at sequence %d of the log: revision %d with %d instances", p.Service, p.Sequence, p.Revision, p.Scale)
	if p.Waves > 0 {
		head += fmt.Sprintf(", in %d waves", p.Waves)
	}
	if _, err := fmt.Fprintln(out, head); err != nil {
		return err
	}
	rows := make([]string, len(p.Slots))
	for i, s := range p.Slots {
		wave := ""
		if s.Wave > 0 {
			wave = fmt.Sprint(s.Wave)
		}
		rows[i] = fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s\t%s", s.Ordinal, s.Action, s.From, s.To, wave, s.Order, s.Reason)
	}
	return table(out, "SLOT\tACTION\tFROM\tTO\tWAVE\tORDER\tWHY", rows)
}
