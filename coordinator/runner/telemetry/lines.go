package telemetry

import (
	"context"
	"log/slog"

	"github.com/rookery-project/rookery/events"
)

// Log writes to the process's log what matters to operators of a round that is in the log. Each line belongs to the trace of the command
// that caused it.
func Log(ctx context.Context, log *slog.Logger, records []events.Record) {
	for _, r := range records {
		level, about, matters := lineOf(r.Data)
		if !matters || !log.Enabled(ctx, level) {
			continue
		}
		if id, ok := r.Scope.Service(); ok {
			about = append(about, slog.String("service", id.String()))
		} else if id, ok := r.Scope.Group(); ok {
			about = append(about, slog.String("group", id.String()))
		} else if name, ok := r.Scope.Node(); ok {
			about = append(about, slog.String("node", name))
		}
		if r.Cause.Correlation > 0 {
			about = append(about, slog.Uint64("command", r.Cause.Correlation))
		}
		line := ctx
		if parent := events.SampledTrace(r.Cause.TraceParent); parent != "" {
			line = within(ctx, parent)
		}
		log.LogAttrs(line, level, r.Data.Kind().Word(), append(about, slog.Uint64("sequence", r.Sequence))...)
	}
}

// lineOf returns the log level of an event and the attributes to log, if it matters to operators who read the process's log. Commands,
// operations, nodes and lost instances matter. The other phases of instances are only in the events.
func lineOf(d events.Data) (level slog.Level, about []slog.Attr, matters bool) {
	word := func(key, value string) []slog.Attr { return []slog.Attr{slog.String(key, value)} }
	switch d := d.(type) {
	case events.CommandSucceeded, events.CommandSuperseded, events.NodeJoined, events.NodeReturned, events.NodeRecovered,
		events.NodeDraining, events.NodeDrained, events.NodePaused, events.NodeResumed, events.NodeForgotten, events.NodeRemoved,
		events.NodeAdmitted:
		return slog.LevelInfo, nil, true
	case events.CommandRejected:
		return slog.LevelInfo, append(word("verb", d.Verb), slog.String("code", string(d.Code)), slog.String("reason", d.Reason)), true
	case events.CommandFailed:
		return slog.LevelWarn, append(word("reason", string(d.Reason)), slog.String("message", d.Message)), true
	case events.OperationStarted:
		return slog.LevelInfo, word("operation", string(d.Operation)), true
	case events.OperationEnded:
		about := append(word("outcome", string(d.Outcome)), slog.String("message", d.Message))
		if d.Outcome == events.OperationDone || d.Outcome == events.OperationSuperseded {
			return slog.LevelInfo, about[:1], true
		}
		return slog.LevelWarn, about, true
	case events.ClusterLevel:
		return slog.LevelInfo, []slog.Attr{slog.Uint64("level", uint64(d.Level))}, true
	case events.ClusterSigned:
		return slog.LevelInfo, word("key", string(d.Key)), true
	case events.NodeSilent, events.NodeLost, events.NodeRevoked:
		return slog.LevelWarn, nil, true
	case events.NodeDegraded:
		return slog.LevelWarn, word("message", d.Message), true
	case events.InstanceLost:
		return slog.LevelWarn, append(word("on", d.Node), slog.Uint64("ordinal", uint64(d.Ordinal))), true
	}
	return 0, nil, false
}
