package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events/bus"
)

const busTimeout = 30 * time.Second

func busCommand(l *link) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bus",
		Short: "Make and check the streams that Rookery keeps on NATS",
		Example: `  rookery bus init
  rookery bus check`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(busInit(l), busCheck(l), busAdopt(l))
	return cmd
}

func busInit(l *link) *cobra.Command {
	var replicas int
	var out output
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make the streams that are missing",
		Long: `Make the streams that are missing, each with an identity of its own. Streams that stand are left as they are; one
that is kept otherwise than it must be is an error that names the difference.`,
		Example: "  rookery bus init --replicas 3",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withBus(cmd, l, func(ctx context.Context, b *bus.JetStream) error {
				if err := b.Init(ctx, replicas); err != nil {
					return err
				}
				return report(ctx, cmd.OutOrStdout(), out, b)
			})
		},
	}
	out.flag(cmd)
	cmd.Flags().IntVar(&replicas, "replicas", 1, "how many servers keep each stream")
	return cmd
}

func withBus(cmd *cobra.Command, l *link, do func(context.Context, *bus.JetStream) error) error {
	b, done, err := l.open("rookery bus")
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(cmd.Context(), busTimeout)
	defer cancel()
	return do(ctx, b)
}

func busCheck(l *link) *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check that every stream stands as it must, and is the one that the log knows",
		Example: `  rookery bus check
  rookery bus check --output json`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withBus(cmd, l, func(ctx context.Context, b *bus.JetStream) error {
				err := report(ctx, cmd.OutOrStdout(), out, b)
				if !out.json() {
					err = errors.Join(err, reportRoom(ctx, cmd.OutOrStdout(), b))
				}
				if err != nil {
					return err
				}
				return runner.CheckIdentity(ctx, b)
			})
		},
	}
	out.flag(cmd)
	return cmd
}

// report prints a line a stream, or all of them as values, and returns what is wrong with them.
func report(ctx context.Context, out io.Writer, how output, b *bus.JetStream) error {
	findings, err := b.Check(ctx)
	if err != nil {
		return err
	}
	var problems []error
	var rows []string
	for _, f := range findings {
		settings := "as they must be"
		switch {
		case f.Missing:
			settings = "missing"
		case len(f.Differences) > 0:
			settings = strings.Join(f.Differences, "; ")
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", f.Stream, f.Identity, settings))
		problems = append(problems, f.Err())
	}
	if how.json() {
		return errors.Join(append(problems, how.print(out, findings))...)
	}
	return errors.Join(append(problems, table(out, "STREAM\tIDENTITY\tSETTINGS", rows))...)
}

// reportRoom says how much the log takes, and how near the account is to its limit.
func reportRoom(ctx context.Context, out io.Writer, b *bus.JetStream) error {
	found, room, err := roomWords(ctx, b)
	if err != nil {
		return err
	}
	if room.Scarce() {
		found += "\nWARNING: " + roomAdvice
	}
	_, err = fmt.Fprintln(out, found)
	return err
}

const roomAdvice = "when the account is full nothing is decided any more: let go of the oldest part of the log with `rookery archive`, or raise the limit"

func roomWords(ctx context.Context, b *bus.JetStream) (string, bus.Room, error) {
	size, err := b.Size(ctx, bus.Log)
	if err != nil {
		return "", bus.Room{}, err
	}
	room, err := b.Room(ctx)
	limit := "without a limit of its own"
	if room.Most > 0 {
		limit = "of " + humanize.IBytes(room.Most)
	}
	return fmt.Sprintf("the log takes %s; the account has stored %s, %s", humanize.IBytes(size), humanize.IBytes(room.Used), limit), room, err
}

func busAdopt(l *link) *cobra.Command {
	return &cobra.Command{
		Use:   "adopt",
		Short: "Accept streams that were deleted, made again or restored",
		Long: `Accept the streams as they are now. A coordinator stops when a stream is not the one that the log knows, because going
on could repeat or lose what people asked. Once you know why that is so, adopt makes streams that are missing, records
the identities in the log, reads the inboxes on from where that is safe, and has every node list all that it has before
anything is placed or stopped. Nothing that runs is stopped by it. A stream that it makes has as many replicas as the
log.`,
		Example: `  rookery bus check
  rookery bus adopt`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withBus(cmd, l, func(ctx context.Context, b *bus.JetStream) error {
				if err := b.Init(ctx, b.Replicas(ctx)); err != nil {
					return err
				}
				said, err := runner.Adopt(ctx, b, processName())
				if err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), said)
				return nil
			})
		},
	}
}
