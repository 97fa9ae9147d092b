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
)

const (
	// settle is how long others wait for the next line of an instance: one that has nothing to say holds nobody up for longer.
	settle = 500 * time.Millisecond
	// holdFollowed is how long a line that was just printed waits for earlier ones of instances that were quiet.
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
		Short: "Print what the instances of a service print, wherever they are, in the order of time",
		Long: `Print what the instances of a service print, wherever they are, in the order of time: each line with the ordinal and the
generation of the instance that printed it. Both streams of a container are printed; --output json or yaml tells them apart.

With --follow it goes on with what is printed from now on, also by instances that take the place of others, until Ctrl-C. A
node that does not answer holds up nothing: that is said on standard error, and its lines come once it answers again.

On a terminal control characters of a line are shown as they are written in Go, as in \x1b, so that no line can change what the terminal
shows. --raw leaves them as they are; so does a pipe.

A node sends as fast as the lines are taken here. Podman keeps about 1 MiB of lines for each container: who takes them
more slowly than they are printed misses some.

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
	cmd.Flags().BoolVarP(&asked.Follow, "follow", "f", false, "go on with what is printed from now on, until Ctrl-C")
	cmd.Flags().BoolVar(&raw, "raw", false, "leave control characters as they are, also on a terminal")
	cmd.Flags().StringVar(&since, "since", "", "print lines from this `time` on: a duration before now, as in 10m, or as in 2026-11-01T12:00:00Z")
	cmd.Flags().IntVar(&tail, "tail", -1, "print this many of the last `lines` of each instance; all that are kept where it is not given")
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
				return usage(cmd, fmt.Errorf("--tail %d is out of range: give 0 to %d", tail, events.MaxTail))
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

// parseSince reads a time, or how long before now it is.
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
	return time.Time{}, fmt.Errorf("--since %q is no time: write how long ago, as in 10m, or a time, as in 2026-11-01T12:00:00Z", text)
}

// printLogs prints the lines of the target's instances until all have ended; with follow until the context does.
func printLogs(ctx context.Context, b *bus.JetStream, t target, asked events.LogsRequest, p *linePrinter, notes io.Writer) error {
	call, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	if _, err := logState(call, b); err != nil {
		return err
	}
	if err := t.check(ctx, b); err != nil {
		return err
	}
	reading := newReading(b, t, asked, notes)
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

// linePrinter prints lines for people or for pipes.
type linePrinter struct {
	out    *bufio.Writer
	output output
	colour bool
	// escapes says that control characters are shown, and not written.
	escapes bool
}

// colours tell ordinals apart on a terminal: those of its palette that are neither black nor white.
var colours = []int{36, 33, 32, 35, 34, 31, 96, 93, 92, 95, 94, 91}

func (p *linePrinter) print(l lineOf) error {
	if p.escapes {
		l.Text = escaped(l.Text)
	}
	if p.output.json() {
		return p.output.printEach(p.out, l)
	}
	const width = 5 // most have it, and so their lines begin in one column
	prefix := fmt.Sprintf("%-*s |", width, fmt.Sprintf("%d.%d", l.Ordinal, l.Generation))
	if p.colour {
		prefix = fmt.Sprintf("\x1b[%dm%s\x1b[0m", colours[int(l.Ordinal)%len(colours)], prefix)
	}
	_, err := fmt.Fprintf(p.out, "%s %s\n", prefix, l.Text)
	return err
}

// escaped returns the text with characters that tell a terminal what to do, or turn the order of others round, as Go writes them.
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

// commands reports whether a terminal does anything with the character but to show it.
func commands(r rune) bool {
	return (unicode.IsControl(r) && r != '\t') || unicode.Is(unicode.Bidi_Control, r)
}
