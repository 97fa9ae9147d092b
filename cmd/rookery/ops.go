package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

func opsCommand(l *link) *cobra.Command {
	var of within
	cmd := &cobra.Command{
		Use:   "ops [NAMESPACE[/NAME]]",
		Short: "List operations: their phases, waits and outcomes",
		Long: `List the current operation of each service, or its last one: updates, restarts, rescales, rollbacks, snapshots and suspensions.
PHASE is the phase of a current operation and the outcome of an ended one. Below the table, each current operation lists the slots
that it waits for, and what they lack.`,
		Example: `  rookery ops
  rookery ops demo/web --watch
The same with the nats CLI:
  nats kv ls rookery_operations; nats kv get rookery_operations demo.web
  nats req rookery.api.operations '{"namespace":"demo"}'`,
		Args: someServices(&of),
	}
	each := &list{link: l, buckets: []string{bus.BucketOperations, bus.BucketServices}}
	each.page = func(s *seen, now time.Time) page { return operationsPage(s.operationsOf(of), now) }
	each.missing = func(s *seen) error { return s.missingOf(of) }
	each.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return each.run(cmd) }
	return cmd
}

var operationColumns = []grid.Column{
	{Head: "SERVICE"},
	{Head: "OPERATION", Least: 12},
	{Head: "PHASE"},
	{Head: "WAVE", Keep: grid.Detail},
	{Head: "SINCE", Keep: grid.Useful, Passing: true},
	{Head: "WAITS FOR", Keep: grid.Useful, Least: 16, Whole: true},
	{Head: "UNTIL", Keep: grid.Detail},
	{Head: "COMMAND", Keep: grid.Wide},
	{Head: "FAILED", Keep: grid.Wide},
	{Head: "SEQUENCE", Keep: grid.Wide},
}

func operationsPage(all []views.ServiceOperation, now time.Time) page {
	p := page{grid: grid.Table{Columns: operationColumns}, notes: operationNotes(all, now)}
	for _, op := range all {
		id := events.ServiceID{Namespace: op.Namespace, Name: op.Name}
		p.values = append(p.values, value{id.String(), op})
		p.grid.Rows = append(p.grid.Rows, grid.Row{Key: id.String(), Cells: []grid.Cell{
			grid.Plain(id.String()), grid.Plain(whatWords(op)),
			{Text: phaseWords(op), Mood: operationMood(op)},
			grid.Plain(waveWords(op)),
			grid.Plain(sinceWords(op, now)), grid.Plain(awaitedWords(op)), grid.Plain(untilWords(op, now)), grid.Plain(number(op.Command)),
			grid.Plain(number(uint64(op.Failed))), grid.Plain(number(op.Sequence)),
		}})
	}
	return p
}

// whatWords names an operation and its target.
func whatWords(op views.ServiceOperation) string {
	switch {
	case op.Rescale != nil:
		return fmt.Sprintf("rescale %d to %d", op.Rescale.From, op.Rescale.To)
	case op.Kind == events.OperationSnapshot, op.Kind == events.OperationSuspend:
		return string(op.Kind)
	}
	return fmt.Sprintf("%s to revision %d", op.Kind, op.Revision)
}

// phaseWords returns the phase of an operation, or its outcome.
func phaseWords(op views.ServiceOperation) string {
	switch {
	case op.Outcome != "":
		return string(op.Outcome)
	case op.Paused != "":
		return "paused"
	case op.Attempt > 1:
		return fmt.Sprintf("%s, attempt %d", op.Phase, op.Attempt)
	}
	return string(op.Phase)
}

// waveWords returns the wave, and the number of waves if it is known.
func waveWords(op views.ServiceOperation) string {
	if op.Waves == 0 {
		return fmt.Sprintf("%d", op.Wave)
	}
	return fmt.Sprintf("%d/%d", op.Wave, op.Waves)
}

func sinceWords(op views.ServiceOperation, now time.Time) string {
	if op.Outcome == "" {
		return age(op.Since, now)
	}
	if op.Ended.IsZero() {
		return ""
	}
	return age(op.Ended, now) + " ago"
}

func untilWords(op views.ServiceOperation, now time.Time) string {
	if op.Until.IsZero() {
		return ""
	}
	return clock(op.Until, now)
}

// awaitedWords says what an operation waits for, or what failed.
func awaitedWords(op views.ServiceOperation) string {
	switch {
	case op.Outcome != "":
		return op.Message
	case op.Paused != "":
		return op.Paused
	case op.Phase == events.OperationPromote:
		return "rookery promote"
	case op.Phase == events.OperationWait:
		return "nodes"
	case len(op.WaitsFor) > 0:
		return "slots " + op.WaitsFor.String()
	}
	return ""
}

// progressWords summarises an operation.
func progressWords(op views.ServiceOperation) string {
	words := []string{whatWords(op)}
	if op.Waves > 1 {
		words = append(words, "wave "+waveWords(op))
	}
	words = append(words, phaseWords(op))
	switch awaited := awaitedWords(op); {
	case op.Paused != "":
		words[len(words)-1] += ": " + awaited
	case awaited != "":
		words = append(words, "waits for "+awaited)
	}
	return strings.Join(words, ", ")
}
