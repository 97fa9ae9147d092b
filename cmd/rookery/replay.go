package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// longestPause bounds the wait for the next event in a replay, however quiet the cluster was.
const longestPause = 5 * time.Second

// replay walks through the log.
type replay struct {
	speed float64
	step  bool
	in    *bufio.Reader
	last  time.Time // time of the previous event
}

func replayCommand(l *link) *cobra.Command {
	var out output
	var from, to, folder string
	var r replay
	var of within
	cmd := &cobra.Command{
		Use:   "replay [NAMESPACE[/NAME]]",
		Short: "Print past events: at once, at speed, or step by step",
		Long: `Print the events between two places in the log, one line each: all at once, at a multiple of the real speed, or one for each Enter.
A place is ` + placeForms + `.
With --speed, pauses last at most 5 seconds. Replay skips a round that its leader did not complete, because it has no effect.`,
		Example: `  rookery replay --from 10m --speed 20
  rookery replay demo/web --step
  rookery replay --from 4711 --to 4800 --output json`,
		Args: someServices(&of),
	}
	out.tableFlag(cmd)
	cmd.Flags().StringVar(&from, "from", "", "first `place` (default the beginning of the log)")
	cmd.Flags().StringVar(&to, "to", "", "last `place` (default the end of the log)")
	cmd.Flags().Float64Var(&r.speed, "speed", 0, "how many `times` the real speed; 0 prints all at once")
	cmd.Flags().BoolVar(&r.step, "step", false, "wait for Enter before each event")
	archiveFlag(cmd, &folder)
	cmd.MarkFlagsMutuallyExclusive("speed", "step")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if r.speed < 0 {
			return usage(cmd, fmt.Errorf("--speed %g is negative: want 0 or more", r.speed))
		}
		now := time.Now()
		first, err := parsePlace(from, now)
		if err != nil {
			return usage(cmd, fmt.Errorf("--from %w", err))
		}
		last, err := parsePlace(to, now)
		if err != nil {
			return usage(cmd, fmt.Errorf("--to %w", err))
		}
		b, done, err := l.open("rookery replay")
		if err != nil {
			return err
		}
		defer done()
		r.in = bufio.NewReader(cmd.InOrStdin())
		state, err := logState(cmd.Context(), b)
		if err != nil {
			return err
		}
		a, err := openArchive(folder, state.Identity)
		if err != nil {
			return err
		}
		p := newPrinter(of, out, cmd.OutOrStdout())
		if err := r.between(cmd.Context(), b, a, cmd.OutOrStdout(), p, first, last); err != nil {
			return err
		}
		return p.missing(cmd.Context(), b, of)
	}
	return cmd
}

// between walks from one place to the other. Without an archive the beginning is that of the trimmed log.
func (r *replay) between(ctx context.Context, b *bus.JetStream, a archived, out io.Writer, p printer, first, last place) error {
	begin, err := a.begin(ctx, b, first)
	if err != nil {
		return err
	}
	end, err := a.find(ctx, b, last)
	if err != nil {
		return err
	}
	log, err := logState(ctx, b)
	if err != nil || begin > end {
		return err
	}
	var rounds projections.Rounds
	for m, err := range a.wholeLog(ctx, b, begin, log.Last) {
		if err != nil {
			return err
		}
		closed, whole := rounds.Take(m)
		for _, m := range closed {
			if m.Sequence > end || !p.shows(m) {
				continue
			}
			if err := r.pause(ctx, m); err != nil {
				return ended(err)
			}
			if err := p.print(out, m); err != nil {
				return err
			}
		}
		if whole && m.Sequence >= end {
			return nil
		}
	}
	return nil
}

// ended treats the end of standard input as a request to stop.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// pause waits until the event is due.
func (r *replay) pause(ctx context.Context, m events.Message) error {
	if r.step {
		return r.enter(ctx)
	}
	_, a, err := events.Decode(m)
	if err != nil || r.speed == 0 {
		return nil //nolint:nilerr // print shows that the event is unreadable
	}
	wait := time.Duration(0)
	if !r.last.IsZero() {
		wait = min(time.Duration(float64(a.Time.Sub(r.last))/r.speed), longestPause)
	}
	r.last = a.Time
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
		return nil
	}
}

// enter waits for Enter, or Ctrl-C.
func (r *replay) enter(ctx context.Context) error {
	typed := make(chan error, 1)
	go func() {
		_, err := r.in.ReadString('\n')
		typed <- err
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-typed:
		return err
	}
}
