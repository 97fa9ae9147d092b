package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// mostWaits bounds the slots whose missing condition is shown for one operation.
const mostWaits = 5

// operationNotes describes each operation in progress, and the slots that it waits for, in lines.
func operationNotes(all []views.ServiceOperation, now time.Time) []string {
	var notes []string
	for _, op := range all {
		if op.Outcome != "" {
			continue
		}
		notes = append(notes, "", op.Namespace+"/"+op.Name+": "+operationWords(op, now))
		notes = append(notes, waitNotes(op)...)
	}
	return notes
}

// waitNotes says what each slot lacks that the operation waits for, with a line for each slot.
func waitNotes(op views.ServiceOperation) []string {
	if op.Phase == events.OperationPromote {
		return nil // all slots wait for the same, which the operation's line says
	}
	var notes []string
	for _, w := range op.Waits[:min(mostWaits, len(op.Waits))] {
		notes = append(notes, "  "+waitWords(w))
	}
	if more := max(len(op.WaitsFor), len(op.Waits)) - mostWaits; more > 0 {
		notes = append(notes, fmt.Sprintf("  and %d more: nats kv get %s %s.%s", more, bus.BucketOperations, op.Namespace, op.Name))
	}
	return notes
}

func waitWords(w views.Wait) string {
	text := fmt.Sprintf("slot %d", w.Ordinal)
	if w.Instance != "" {
		text += fmt.Sprintf(" (%s on %s)", w.Instance, w.Node)
	}
	return text + ": " + w.Missing
}

// operationWords describes an operation: its phase, what it waits for, since when and until when.
func operationWords(op views.ServiceOperation, now time.Time) string {
	text := fmt.Sprintf("%s to revision %d", op.Kind, op.Revision)
	switch {
	case op.Rescale != nil:
		text = rescaleWords(*op.Rescale)
	case op.Kind == events.OperationSnapshot, op.Kind == events.OperationSuspend:
		text = string(op.Kind)
	}
	if op.Paused != "" {
		return text + " is paused: " + op.Paused
	}
	if op.Waves > 1 {
		text += fmt.Sprintf(", wave %d of %d", op.Wave, op.Waves)
	}
	text += fmt.Sprintf(", slots %s, phase %s since %s", op.Slots, op.Phase, clock(op.Since, now))
	if op.Attempt > 1 {
		text += fmt.Sprintf(" (attempt %d)", op.Attempt)
	}
	switch {
	case op.Phase == events.OperationPromote:
		text += ", waits for rookery promote"
	case op.Phase == events.OperationWait:
		text += ", waits for nodes"
	case len(op.WaitsFor) > 0:
		text += ", waits for " + op.WaitsFor.String()
	}
	if !op.Until.IsZero() {
		text += " until " + clock(op.Until, now)
	}
	if len(op.Waiting) > 0 {
		text += fmt.Sprintf("; slots %s come later", op.Waiting)
	}
	if op.Failed > 0 {
		text += fmt.Sprintf("; %d failed", op.Failed)
	}
	return text
}

// rescaleWords describes the change of a topology.
func rescaleWords(r events.Rescale) string {
	return fmt.Sprintf("rescale from %d to %d, config version %d", r.From, r.To, r.ConfigVersion)
}

// topologyDetails describes what Rookery tells the instances of a topology about each other, and their answers.
func topologyDetails(data events.Data) string {
	switch d := data.(type) {
	case events.TopologyChanged:
		text := fmt.Sprintf(" config version %d of %d slots", d.ConfigVersion, d.Scale)
		if c := d.Change; c != nil {
			text += fmt.Sprintf(", %s for config version %d of %d slots", c.Phase, c.ConfigVersion, c.Scale)
		}
		return text
	case events.InstanceConfirmed:
		text := fmt.Sprintf(" %d.%d on %s: %s", d.Ordinal, d.Generation, d.Node, d.Phase)
		for _, e := range d.Exports {
			text += fmt.Sprintf(", volume %s of %d bytes as %.12s", e.Volume, e.Size, e.Digest)
		}
		return text
	case events.InstanceRefused:
		return fmt.Sprintf(" %d.%d on %s: %s: %s", d.Ordinal, d.Generation, d.Node, d.Phase, d.Refused)
	}
	return ""
}

// snapshotDetails describes the progress of a snapshot.
func snapshotDetails(data events.Data, at time.Time) string {
	switch d := data.(type) {
	case events.SnapshotRequested:
		if !d.Scheduled.IsZero() {
			return ", due at " + clock(d.Scheduled, at)
		}
	case events.SnapshotSkipped:
		return fmt.Sprintf(" the snapshot due at %s: another operation is in progress", clock(d.Scheduled, at))
	case events.SnapshotCommitted:
		return fmt.Sprintf(" version %d of %d instances of revision %d", d.Version, d.Scale, d.Revision)
	}
	return ""
}

// operationDetails describes the progress of an operation.
func operationDetails(data events.Data, at time.Time) string {
	switch d := data.(type) {
	case events.OperationStarted:
		if d.Rescale != nil {
			return fmt.Sprintf(" %s, of slots %s", rescaleWords(*d.Rescale), d.Slots)
		}
		if d.Operation == events.OperationSnapshot || d.Operation == events.OperationSuspend {
			return fmt.Sprintf(" %s of slots %s", d.Operation, d.Slots)
		}
		text := fmt.Sprintf(" %s to revision %d of slots %s", d.Operation, d.Revision, d.Slots)
		if d.From > 0 {
			text += fmt.Sprintf("; a slot that is replaced before its wave gets revision %d", d.From)
		}
		return text
	case events.OperationEntered:
		text := fmt.Sprintf(" %s of wave %d", d.Phase, d.Wave)
		if d.Attempt > 0 {
			text = fmt.Sprintf(" %s, attempt %d", d.Phase, d.Attempt)
		}
		if len(d.Slots) > 0 {
			text += ", slots " + d.Slots.String()
		}
		if d.Phase == events.OperationPromote {
			text += ", waits for rookery promote"
		}
		if d.Phase == events.OperationWait {
			text += ", waits for nodes"
		}
		if !d.Until.IsZero() {
			text += ", until " + clock(d.Until, at)
		}
		return text + givenUp(d.GivenUp)
	case events.OperationProlonged:
		return " until " + clock(d.Until, at) + ", after a failover"
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
