package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

func historyCommand(l *link) *cobra.Command {
	each := &list{link: l}
	q := api.HistoryQuestion{}
	cmd := &cobra.Command{
		Use:   "history NAMESPACE/NAME",
		Short: "Show the commands of a service and their outcomes",
		Long: `Show the commands that a service received, when and from which client, and their outcomes. It includes commands of groups that the
service was a member of. The list comes from the log, so it covers deleted services, and commands that the bus no longer has.`,
		Example: `  rookery history demo/web
  rookery history demo/web --limit 20 --before 4711
  rookery history demo/web --sort outcome
  rookery history demo/web --actor ann
  rookery history demo/web --output 'jsonpath=$[?@.outcome=="rejected"].command'
The same with the nats CLI:
  nats req rookery.api.history '{"service":"demo/web"}'`,
		Args: arguments("NAMESPACE/NAME"),
	}
	each.out.listFlag(cmd)
	each.chosen.sortFlag(cmd)
	cmd.Flags().IntVar(&q.Limit, "limit", api.DefaultHistory, fmt.Sprintf("show the last `many` commands; at most %d", api.MaxHistory))
	cmd.Flags().Uint64Var(&q.Before, "before", 0, "show only commands decided before this `sequence` of the log")
	cmd.Flags().StringVar(&q.Actor, "actor", "", "show only commands that this `user` sent")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := events.ParseServiceID(args[0])
		if err != nil {
			return usage(cmd, err)
		}
		if q.Limit < 1 || q.Limit > api.MaxHistory {
			return usage(cmd, fmt.Errorf("--limit %d is out of range: want 1 to %d", q.Limit, api.MaxHistory))
		}
		if err := each.chosen.check(cmd, historyColumns); err != nil {
			return err
		}
		b, done, err := l.open("rookery history")
		if err != nil {
			return err
		}
		defer done()
		q.Service = id.String()
		var h api.History
		if err := askPast(cmd.Context(), b, "history", q, &h); err != nil {
			return err
		}
		if len(h.Commands)+h.Earlier == 0 {
			if err := missingNow(cmd.Context(), b, within{id.Namespace, id.Name}); err != nil {
				return err
			}
		}
		p := each.chosen.order(historyPage(h))
		if !each.out.json() {
			return each.print(cmd.OutOrStdout(), p)
		}
		for i, v := range p.values {
			h.Commands[i] = v.of.(projections.Asked)
		}
		return each.out.print(cmd.OutOrStdout(), h)
	}
	return cmd
}

var historyColumns = []grid.Column{
	{Head: "SEQUENCE"},
	{Head: "WHEN", Keep: grid.Useful},
	{Head: "COMMAND"},
	{Head: "ASKED"},
	{Head: "BY", Keep: grid.Detail},
	{Head: "OUTCOME", Least: 16, Whole: true},
}

func historyPage(h api.History) page {
	p := page{grid: grid.Table{Columns: historyColumns}}
	if h.Earlier > 0 && len(h.Commands) > 0 {
		p.notes = []string{fmt.Sprintf("%d earlier commands: see --before %d", h.Earlier, h.Commands[0].Sequence)}
	}
	for _, a := range h.Commands {
		key := number(a.Command)
		p.values = append(p.values, value{key, a})
		p.grid.Rows = append(p.grid.Rows, grid.Row{Key: key, Cells: []grid.Cell{
			grid.Plain(number(a.Sequence)), grid.Plain(a.At.Local().Format(time.DateTime)), grid.Plain(key), grid.Plain(askedWords(a)),
			grid.Plain(sourceWords(a)), grid.Plain(becameWords(a)),
		}})
	}
	return p
}

func askedWords(a projections.Asked) string {
	if a.Group != "" {
		return a.Verb + " of group " + a.Group
	}
	return a.Verb
}

// sourceWords names the user that sent a command, or else its client, as far as the command says.
func sourceWords(a projections.Asked) string {
	switch {
	case a.Actor != "":
		return a.Actor
	case a.Source == "" && a.ID == "":
		return "-"
	case a.Source == "":
		return "id " + a.ID
	case a.ID == "" || strings.HasPrefix(a.Source, senderPrefix):
		return senderWords(a.Source)
	}
	return a.Source + " id " + a.ID
}

func becameWords(a projections.Asked) string {
	text := string(a.Outcome)
	if a.Unchanged {
		text += ", without a change"
	}
	if !a.Ended.IsZero() && a.Ended.After(a.At) {
		text += " after " + a.Ended.Sub(a.At).Round(time.Millisecond).String()
	}
	if a.Outcome == projections.Superseded {
		text += fmt.Sprintf(" by command %d", a.Other)
	}
	if a.Outcome == projections.Repeated {
		text += fmt.Sprintf(" of command %d", a.Other)
	}
	if a.Code != "" {
		text += " (" + a.Code + "): " + a.Message
	}
	return text
}
