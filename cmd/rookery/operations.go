package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// printOperations says what services are going through: those of the arguments, or all where there are none.
func printOperations(cmd *cobra.Command, l *link, args []string) error {
	all, err := readView[views.Service](cmd, l, bus.BucketServices)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b views.Service) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, s := range all {
		name := s.Namespace + "/" + s.Name
		if s.Operation == nil || (len(args) == 1 && args[0] != name) {
			continue
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "\n%s: %s\n", name, operationWords(*s.Operation)); err != nil {
			return err
		}
	}
	return nil
}

// operationWords says where an operation stands, who is waited for, since when and until when.
func operationWords(op views.Operation) string {
	text := fmt.Sprintf("%s to revision %d", op.Kind, op.Revision)
	if op.Paused != "" {
		return text + " is paused: " + op.Paused
	}
	text += fmt.Sprintf(", wave %d (slots %s), phase %s since %s", op.Wave, op.Slots, op.Phase, op.Since.Local().Format(time.TimeOnly))
	switch {
	case op.Phase == events.OperationPromote:
		text += ", waits for rookery promote"
	case len(op.WaitsFor) > 0:
		text += ", waits for " + op.WaitsFor.String()
	}
	if !op.Until.IsZero() {
		text += " until " + op.Until.Local().Format(time.TimeOnly)
	}
	if len(op.Waiting) > 0 {
		text += fmt.Sprintf("; slots %s come later", op.Waiting)
	}
	if op.Failed > 0 {
		text += fmt.Sprintf("; %d failed", op.Failed)
	}
	return text
}

// operationDetails says what became of an operation.
func operationDetails(data events.Data) string {
	switch d := data.(type) {
	case events.OperationStarted:
		text := fmt.Sprintf(" %s to revision %d of slots %s", d.Operation, d.Revision, d.Slots)
		if d.From > 0 {
			text += fmt.Sprintf(", which have revision %d until then", d.From)
		}
		return text
	case events.OperationEntered:
		text := fmt.Sprintf(" %s of wave %d", d.Phase, d.Wave)
		if len(d.Slots) > 0 {
			text += ", slots " + d.Slots.String()
		}
		if !d.Until.IsZero() {
			text += ", until " + d.Until.Local().Format(time.TimeOnly)
		}
		return text + givenUp(d.GivenUp)
	case events.OperationPaused:
		return ": " + d.Message
	case events.OperationEnded:
		return strings.TrimSuffix(fmt.Sprintf(" (%s)%s: %s", d.Outcome, givenUp(d.GivenUp), d.Message), ": ")
	}
	return ""
}

func givenUp(slots events.Ordinals) string {
	if len(slots) == 0 {
		return ""
	}
	return ", without " + slots.String() + ", which failed"
}
