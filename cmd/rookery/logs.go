package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

const (
	// settle is how long the lines of other instances wait for the next line of one instance. A quiet instance delays them no longer.
	settle = 500 * time.Millisecond
	// holdFollowed is how long a new line waits for earlier lines of quiet instances.
	holdFollowed = 100 * time.Millisecond
)

func logsCommand(l *link) *cobra.Command {
	var out output
	var asked events.LogsRequest
	var since string
	var raw bool
	tail := -1
	cmd := &cobra.Command{
		Use:   "logs NAMESPACE/NAME[/ORDINAL]",
		Short: "Print the logs of a service's instances, in time order",
		Long: `Print the logs of a service's instances on all nodes, in time order. Each line starts with the ordinal and the generation of its
instance. The output has both streams of a container; --output json or yaml names the stream.

With --follow it also prints new lines, including those of successors, until Ctrl-C. A node that does not answer delays no other:
logs names it on standard error, and prints its lines once it answers again.

On a terminal, logs escapes control characters as Go does, as in \x1b, so that no line can change the screen. With --raw, and in a
pipe, it prints them unchanged.

A node sends lines as fast as logs reads them. Podman keeps about 1 MiB of lines for each container, so a slow reader can miss lines.

Exit codes: 0 succeeded, 1 error or a node did not answer, 2 wrong usage, 130 Ctrl-C.`,
		Example: `  rookery logs demo/web
  rookery logs demo/web/2 --tail 20
  rookery logs demo/web --follow --since 10m
  rookery logs demo/web --since 2026-11-01T12:00:00Z --output json
The last lines with the nats CLI:
  nats req rookery.api.logs '{"service":"demo/web","tail":20}'`,
		Args: arguments("NAMESPACE/NAME[/ORDINAL]"),
	}
	out.flag(cmd)
	cmd.Flags().BoolVarP(&asked.Follow, "follow", "f", false, "print new lines too, until Ctrl-C")
	cmd.Flags().BoolVar(&raw, "raw", false, "do not escape control characters on a terminal")
	cmd.Flags().StringVar(&since, "since", "", "print lines since this `time`, as in 2026-11-01T12:00:00Z, or since this long ago, as in 10m")
	cmd.Flags().IntVar(&tail, "tail", -1, "print only the last `lines` of each instance (default all that Podman keeps)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := parseTarget(args[0])
		if err != nil {
			return usage(cmd, err)
		}
		if asked.Since, err = parseSince(since, time.Now()); err != nil {
			return usage(cmd, err)
		}
		if cmd.Flags().Changed("tail") {
			if tail < 0 || tail > events.MaxTail {
				return usage(cmd, fmt.Errorf("--tail %d is out of range: want 0 to %d", tail, events.MaxTail))
			}
			asked.Tail = &tail
		}
		b, done, err := l.open("rookery logs")
		if err != nil {
			return err
		}
		defer done()
		p := &linePrinter{
			out: bufio.NewWriter(cmd.OutOrStdout()), output: out, colour: out.style(cmd.OutOrStdout()).Colour,
			escapes: !raw && isTerminal(cmd.OutOrStdout()),
		}
		return printLogs(cmd.Context(), b, t, asked, p, cmd.ErrOrStderr())
	}
	return cmd
}

// parseSince reads a time, or a duration before now.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since %q is not a time: want a duration before now, as in 10m, or a time, as in 2026-11-01T12:00:00Z", text)
}

// printLogs prints the lines of the target's instances until all have ended. With follow it prints until the context ends.
func printLogs(ctx context.Context, b *bus.JetStream, t target, asked events.LogsRequest, p *linePrinter, notes io.Writer) error {
	if err := t.check(ctx, b); err != nil {
		return err
	}
	there := func(ctx context.Context) ([]views.Instance, error) { return t.instances(ctx, b) }
	reading := newReading(b, t, there, asked, notes)
	ctx, stop := context.WithCancel(ctx)
	defer reading.running.Wait()
	defer stop()
	if err := reading.begin(ctx); err != nil {
		return err
	}
	for {
		l, err := reading.merging.next(ctx, func() error { return p.out.Flush() })
		if errors.Is(err, io.EOF) {
			return errors.Join(p.out.Flush(), reading.missed())
		}
		if err == nil {
			err = p.print(l)
		}
		if err != nil {
			return errors.Join(err, p.out.Flush())
		}
	}
}

// lineOf is a line and the instance that printed it.
type lineOf struct {
	events.LogLine
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	Node       string `json:"node"`
}

// linePrinter prints lines for a terminal or a pipe.
type linePrinter struct {
	out    *bufio.Writer
	output output
	colour bool
	// escapes says that the printer escapes control characters.
	escapes bool
}

// colours tell ordinals apart on a terminal: the colours of its palette except black and white.
var colours = []int{36, 33, 32, 35, 34, 31, 96, 93, 92, 95, 94, 91}

func (p *linePrinter) print(l lineOf) error {
	if p.escapes {
		l.Text = escaped(l.Text)
	}
	if p.output.json() {
		return p.output.printEach(p.out, l)
	}
	const width = 5 // the usual width, so that most lines begin in one column
	prefix := fmt.Sprintf("%-*s |", width, fmt.Sprintf("%d.%d", l.Ordinal, l.Generation))
	if p.colour {
		prefix = fmt.Sprintf("\x1b[%dm%s\x1b[0m", colours[int(l.Ordinal)%len(colours)], prefix)
	}
	_, err := fmt.Fprintf(p.out, "%s %s\n", prefix, l.Text)
	return err
}

// escaped returns the text with control characters, and characters that reverse the order of text, escaped as in Go.
func escaped(text string) string {
	if !strings.ContainsFunc(text, commands) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if commands(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// commands reports whether the character does more on a terminal than to appear.
func commands(r rune) bool {
	return (unicode.IsControl(r) && r != '\t') || unicode.Is(unicode.Bidi_Control, r)
}
