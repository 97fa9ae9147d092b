package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

func eventsCommand(l *link) *cobra.Command {
	var out output
	var follow bool
	var of within
	cmd := &cobra.Command{
		Use:   "events [NAMESPACE[/NAME]]",
		Short: "Print events, of all or one namespace, service or group",
		Long: `Print events, one line each: the time, the object and the event. A terminal wraps long lines. --output wide does not wrap, and
starts each line with the sequence in the log. json and yaml print whole events.

With --follow it also prints new events, until Ctrl-C ends it with exit code 130.

Exit codes: 0 succeeded, 1 error, 2 wrong usage, 130 Ctrl-C.`,
		Example: `  rookery events
  rookery events demo/web --follow
  rookery events demo/shop
  rookery events --output json
The same with the nats CLI:
  nats sub 'rookery.event.service.demo.web.>'`,
		Args: someServices(&of),
	}
	out.tableFlag(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new events too, until Ctrl-C")
	chosen := eventSelection{}
	chosen.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := chosen.check(cmd, &of); err != nil {
			return err
		}
		b, done, err := l.open("rookery events")
		if err != nil {
			return err
		}
		defer done()
		p := newPrinter(of, out, cmd.OutOrStdout())
		p.chosen = chosen
		if p.from, err = chosen.begins(cmd.Context(), b); err != nil {
			return err
		}
		return printLog(cmd.Context(), b, cmd.OutOrStdout(), p, func() (more bool, err error) {
			err = p.missing(cmd.Context(), b, of)
			if follow && errors.Is(err, errMissing) {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: waiting until it exists\n", err)
				err = nil
			}
			return follow, err
		})
	}
	return cmd
}

// printer prints the events of its scopes.
type printer struct {
	scopes []string
	out    output
	style  grid.Style
	waves  waves
	// printed counts the printed events.
	printed *int
	chosen  eventSelection
	from    uint64 // the sequence of the first; 0 for the first of the log
}

// missing returns an error if the printer found no event of what the operator named, and it does not exist.
func (p printer) missing(ctx context.Context, b *bus.JetStream, of within) error {
	if *p.printed > 0 || of.namespace == "" {
		return nil
	}
	return missingNow(ctx, b, of)
}

// newPrinter returns a printer for the events of a namespace, a service or a group, or for all events.
func newPrinter(of within, out output, w io.Writer) printer {
	scopes := []string{events.LogRoot + "."}
	if of.namespace != "" {
		below := "." + of.namespace + "."
		if of.name != "" {
			below += of.name + "."
		}
		scopes = []string{events.LogRoot + ".service" + below, events.LogRoot + ".group" + below}
	}
	return printer{scopes: scopes, out: out, style: out.style(w), waves: waves{}, printed: new(int)}
}

// printLog prints the log to its current end, and follows it from there if atEnd returns true.
func printLog(ctx context.Context, b *bus.JetStream, out io.Writer, p printer, atEnd func() (more bool, err error)) error {
	call, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	state, err := b.State(call, bus.Log)
	if err != nil {
		return err
	}
	ended := state.Last == 0
	if ended {
		if more, err := atEnd(); err != nil || !more {
			return err
		}
	}
	reader, err := b.Read(ctx, bus.Log, max(state.First, p.from))
	if err != nil {
		return err
	}
	defer reader.Stop()
	var rounds projections.Rounds
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m, ok := <-reader.Messages():
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case !ok:
				return errors.New("lost the subscription to the log: run this again")
			}
			closed, _ := rounds.Take(m)
			for _, m := range closed {
				if err := p.print(out, m); err != nil {
					return err
				}
			}
			if !ended && m.Sequence >= state.Last {
				ended = true
				if more, err := atEnd(); err != nil || !more {
					return err
				}
			}
		}
	}
}

// shows reports whether the event is in the printer's scopes.
func (p printer) shows(m events.Message) bool {
	within := func(scope string) bool { return strings.HasPrefix(m.Subject, scope) }
	return slices.ContainsFunc(p.scopes, within) && m.Subject != events.LogRoot+".round" && p.chosen.has(m)
}

func (p printer) print(out io.Writer, m events.Message) error {
	if !p.shows(m) {
		return nil
	}
	*p.printed++
	if !p.out.json() {
		_, err := fmt.Fprintln(out, strings.Join(eventLines(p.waves.describe(m, time.Now()), m.Sequence, p.style), "\n"))
		return err
	}
	return p.out.printEach(out, struct {
		Sequence uint64         `json:"sequence"`
		Subject  string         `json:"subject"`
		Type     string         `json:"type"`
		Time     string         `json:"time"`
		Actor    string         `json:"actor,omitempty"`
		Data     jsontext.Value `json:"data"`
	}{m.Sequence, events.EventSubject(m.Subject), m.Header.Get("ce-type"), m.Header.Get("ce-time"), events.ActorOf(m), m.Body})
}

// describe puts an event into one line: the time, with its date if that is not today's, the object, the event.
func (w waves) describe(m events.Message, now time.Time) string {
	data, a, err := events.Decode(m)
	if err != nil {
		return err.Error()
	}
	text := dated(a.Time, now, eventTime) + "  " + subjectWords(m.Subject) + "  " + data.Kind().Word() + details(w.recall(m, data), a.Time)
	if a.Cause.Actor != "" && data.Kind().Thing == "command" {
		text += ", by " + a.Cause.Actor
	}
	return text
}

func subjectWords(subject string) string {
	t := strings.Split(subject, ".")
	switch {
	case len(t) > 4 && t[2] == "service":
		return t[3] + "/" + t[4]
	case len(t) > 4 && t[2] == "group":
		return "group " + t[3] + "/" + t[4]
	case len(t) > 3 && t[2] == "node":
		return t[3]
	}
	return "cluster"
}

// details describes an event of this time.
func details(data events.Data, at time.Time) string {
	switch d := data.(type) {
	case events.Outcome:
		return outcomeDetails(d)
	case events.ServiceRevised:
		return revisedDetails(d)
	case events.ServiceScaled:
		if len(d.Skips) > 0 {
			return fmt.Sprintf(" to %d, without ordinals %s", d.Scale, d.Skips)
		}
		return fmt.Sprintf(" to %d", d.Scale)
	case events.ServiceResumed:
		return resumedDetails(d)
	case events.ServiceFired:
		return fmt.Sprintf(" run %d of %s", d.Run, clock(d.Scheduled, at))
	case events.ServiceSkipped:
		return fmt.Sprintf(" the run due at %s: run %d is still in progress", clock(d.Scheduled, at), d.Run)
	case events.InstancePending:
		return fmt.Sprintf(" %d: %s", d.Ordinal, projections.Reasons(d))
	case events.InstancePlaced:
		return placedDetails(d)
	case events.InstanceAdopted:
		return placedDetails(d.InstancePlaced)
	case events.InstanceRetired:
		return fmt.Sprintf(" %d.%d (%s)", d.Ordinal, d.Generation, d.Reason)
	case events.NodeJoined:
		return fmt.Sprintf(" as epoch %d at %s with %s", d.Epoch, d.Address, d.Engine)
	case events.ClusterLevel:
		return fmt.Sprintf(" %d", d.Level)
	case events.ClusterSigned:
		return signedDetails(d)
	case events.RebalanceStarted:
		return fmt.Sprintf(" of at most %d moves, for a gain of at least %d points", d.MaxMoves, d.MinGain)
	case events.RebalanceEnded:
		return fmt.Sprintf(" (%s) after %d moved %s", d.Reason, d.Moved, d.Message)
	case events.InstanceLost, events.InstanceReturned, events.EvictionsPaused, events.EvictionsResumed:
		return lossDetails(d)
	case events.UnitShunned:
		return fmt.Sprintf(" (%s) %s", d.Work, d.Message)
	case events.UnitRetried:
		return fmt.Sprintf(" (%s)", d.Work)
	case events.TokenCreated:
		return tokenDetails(d)
	case events.NodeAdmitted:
		return admittedDetails(d)
	case events.NodeRevoked:
		return fmt.Sprintf(" with %d keys", len(d.Keys))
	case events.SessionOpened:
		return fmt.Sprintf(" of kind %s with %d.%d on %s", d.Session, d.Ordinal, d.Generation, d.Node)
	case events.NodeUpdated:
		return overrideDetails(d.Overrides)
	case events.NodeMisfits:
		return misfitDetails(d)
	case events.NodeDraining, events.NodeDrained, events.NodeRemoved, events.InstanceForgotten,
		events.StrayFound, events.StrayRemoved, events.StrayForgotten:
		return leavingDetails(d, at)
	case events.TopologyChanged, events.Answer:
		return topologyDetails(d)
	}
	switch data.Kind().Thing {
	case "operation":
		return operationDetails(data, at)
	case "snapshot":
		return snapshotDetails(data, at)
	case "group":
		return groupDetails(data)
	}
	return seenDetails(data)
}

// outcomeDetails describes the outcome of a command.
func outcomeDetails(outcome events.Outcome) string {
	switch d := outcome.(type) {
	case events.CommandAccepted:
		if d.Unchanged {
			return fmt.Sprintf(" %s (command %d), which changes nothing", d.Verb, d.Sequence)
		}
		return fmt.Sprintf(" %s (command %d)", d.Verb, d.Sequence)
	case events.CommandRejected:
		return fmt.Sprintf(" (command %d, %s) %s", d.Sequence, d.Code, d.Reason)
	case events.CommandQueued:
		return fmt.Sprintf(" (command %d behind %d)", d.Sequence, d.Behind)
	case events.CommandFailed:
		return fmt.Sprintf(" (command %d, %s) %s", d.Sequence, d.Reason, d.Message)
	case events.CommandSuperseded:
		return fmt.Sprintf(" (command %d by %d)", d.Sequence, d.By)
	case events.CommandRepeated:
		return fmt.Sprintf(" (command %d repeats %d)", d.Sequence, d.Of)
	}
	return fmt.Sprintf(" (command %d)", outcome.CommandSequence())
}

func resumedDetails(d events.ServiceResumed) string {
	if d.Snapshot == 0 {
		return ""
	}
	return fmt.Sprintf(" from snapshot %d", d.Snapshot)
}

func revisedDetails(d events.ServiceRevised) string {
	text := fmt.Sprintf(" to revision %d: %s", d.Revision, d.Spec.Image)
	if d.Of > 0 {
		text += fmt.Sprintf(", as revision %d", d.Of)
	}
	return text
}

func placedDetails(d events.InstancePlaced) string {
	text := fmt.Sprintf(" %d.%d on %s", d.Ordinal, d.Generation, d.Node)
	if d.Replaces > 0 {
		text += fmt.Sprintf(" to succeed %d.%d", d.Ordinal, d.Replaces)
	}
	for _, p := range d.Ports {
		text += fmt.Sprintf(" %s=%s:%d", p.Name, d.Address, p.HostPort)
	}
	return text
}

func seenDetails(data events.Data) string {
	sighting, ok := data.(events.Sighting)
	if !ok {
		return ""
	}
	seen := sighting.Seen()
	text := fmt.Sprintf(" %d.%d on %s", seen.Ordinal, seen.Generation, seen.Node)
	if seen.Reason != "" {
		text += " (" + string(seen.Reason)
		if seen.ExitCode != nil {
			text += fmt.Sprintf(" with %d", *seen.ExitCode)
		}
		text += ") " + seen.Message
	}
	text = strings.TrimRight(text, " ")
	if seen.NoRestart != "" && seen.Message == "" {
		text += " it is not restarted: " + string(seen.NoRestart)
	}
	if seen.Output != "" {
		text += "; last output: " + readOutput(seen.Output)
	}
	return text
}

// readOutput returns the command that prints a container's last output. The output is lines of text, which the nats CLI would encode
// without --raw.
func readOutput(key string) string { return "nats kv get --raw " + bus.BucketOutput + " " + key }
