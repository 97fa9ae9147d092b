package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

func historyCommand(l *link) *cobra.Command {
	var out output
	q := api.HistoryQuestion{}
	cmd := &cobra.Command{
		Use:   "history NAMESPACE/NAME",
		Short: "Show the commands of a service and their outcomes",
		Long: `Show the commands that a service received, when and from which client, and their outcomes. It includes commands of groups that the
service was a member of. The list comes from the log, so it covers deleted services, and commands that the bus no longer has.`,
		Example: `  rookery history demo/web
  rookery history demo/web --limit 20 --before 4711
The same with the nats CLI:
  nats req rookery.api.history '{"service":"demo/web"}'`,
		Args: arguments("NAMESPACE/NAME"),
	}
	out.flag(cmd)
	cmd.Flags().IntVar(&q.Limit, "limit", api.DefaultHistory, fmt.Sprintf("show the last `many` commands; at most %d", api.MaxHistory))
	cmd.Flags().Uint64Var(&q.Before, "before", 0, "show only commands decided before this `sequence` of the log")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := events.ParseServiceID(args[0])
		if err != nil {
			return usage(cmd, err)
		}
		if q.Limit < 1 || q.Limit > api.MaxHistory {
			return usage(cmd, fmt.Errorf("--limit %d is out of range: want 1 to %d", q.Limit, api.MaxHistory))
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
		if out.json() {
			return out.print(cmd.OutOrStdout(), h)
		}
		return printHistory(cmd.OutOrStdout(), h)
	}
	return cmd
}

func printHistory(out io.Writer, h api.History) error {
	if h.Earlier > 0 && len(h.Commands) > 0 {
		fmt.Fprintf(out, "%d earlier commands: see --before %d\n", h.Earlier, h.Commands[0].Sequence)
	}
	rows := make([]string, len(h.Commands))
	for i, a := range h.Commands {
		rows[i] = fmt.Sprintf("%d\t%s\t%d\t%s\t%s\t%s", a.Sequence, a.At.Local().Format(time.DateTime), a.Command, askedWords(a), sourceWords(a), becameWords(a))
	}
	return table(out, "SEQUENCE\tWHEN\tCOMMAND\tASKED\tBY\tOUTCOME", rows)
}

func askedWords(a projections.Asked) string {
	if a.Group != "" {
		return a.Verb + " of group " + a.Group
	}
	return a.Verb
}

// sourceWords names the client of a command, as far as the command says.
func sourceWords(a projections.Asked) string {
	switch {
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
