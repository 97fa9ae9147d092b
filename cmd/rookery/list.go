package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// page is what a list shows.
type page struct {
	grid grid.Table
	// notes are said below the table.
	notes []string
	// values are those of the views, whole, for scripts.
	values []value
}

// value is that of a view, under the key that tells it from all others.
type value struct {
	key string
	of  any
}

// list is a command that shows what views say, once or as they change.
type list struct {
	link    *link
	out     output
	watch   bool
	chosen  selection
	buckets []string
	// page lays out what is seen, at this time. It is a function of these alone.
	page func(s *seen, now time.Time) page
	// missing says that what the operator named does not exist; nil where it does.
	missing func(s *seen) error
}

const watchHelp = `With --watch it goes on: on a terminal the table is drawn anew with every change; into a pipe a line is written for each
row that has changed (with --output json a value for each, on a line), and "gone" for what is there no more. Ctrl-C ends it
with exit code 130.`

const fitHelp = `On a terminal columns go and texts are cut where there is no room, those first that are missed least; why something is not as it
should be is said below the table then. --output wide shows all, and json and yaml the whole values. Into a pipe nothing is cut.`

func (l *list) flags(cmd *cobra.Command) {
	l.out.listFlag(cmd)
	l.chosen.flags(cmd, l.buckets)
	cmd.Flags().BoolVarP(&l.watch, "watch", "w", false, "go on with what changes, until Ctrl-C")
	cmd.Long = strings.TrimSpace(cmd.Long + "\n\n" + fitHelp + "\n\n" + watchHelp)
}

func (l *list) run(cmd *cobra.Command) error {
	if err := l.chosen.check(cmd, l.page(newSeen(), time.Time{}).grid.Columns); err != nil {
		return err
	}
	if l.watch && (l.out.format == formatName || strings.HasPrefix(l.out.format, formatPath)) {
		return usage(cmd, fmt.Errorf("--watch prints text, wide, json or yaml, and not %s", l.out.format))
	}
	b, done, err := l.link.open("rookery")
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(cmd.Context(), busTimeout)
	defer cancel()
	if _, err := logState(ctx, b); err != nil {
		return err
	}
	s, err := readSeen(ctx, b, l.buckets)
	missing := error(nil)
	if err == nil {
		missing = l.missing(s)
		if l.chosen.namespace != "" {
			missing = cmp.Or(missing, s.missingOf(within{namespace: l.chosen.namespace}))
		}
	}
	if l.watch { // which goes on where the bus is lost
		if missing != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: waiting for it\n", missing)
		}
		return l.follow(cmd.Context(), b, cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	if err := errors.Join(err, missing); err != nil {
		return err
	}
	return l.print(cmd.OutOrStdout(), l.laidOut(s, time.Now()))
}

// laidOut lays out what is selected of what is seen.
func (l *list) laidOut(s *seen, now time.Time) page {
	return l.chosen.order(l.page(l.chosen.of(s), now))
}

// readSeen reads every value of the buckets.
func readSeen(ctx context.Context, b *bus.JetStream, buckets []string) (*seen, error) {
	s := newSeen()
	for _, name := range buckets {
		bucket, err := b.Bucket(ctx, name)
		if err != nil {
			return nil, err
		}
		entries, err := bucket.All(ctx)
		if err != nil {
			return nil, err
		}
		var told bus.Sight
		for _, e := range entries {
			told.Changes = append(told.Changes, bus.Change{Bucket: name, Key: e.Key, Value: e.Value})
		}
		if err := s.take(told); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// print prints the page as it is.
func (l *list) print(out io.Writer, p page) error {
	if is, err := l.out.printSelected(out, p.values); is {
		return err
	}
	if !l.out.json() {
		_, err := fmt.Fprintln(out, strings.Join(p.lines(l.out.style(out)), "\n"))
		return err
	}
	all := make([]any, len(p.values))
	for i, v := range p.values {
		all[i] = v.of
	}
	return l.out.print(out, all)
}

// lines are those of the table and of what is said below it.
func (p page) lines(s grid.Style) []string {
	lines := p.grid.Lines(s)
	for _, n := range append(p.grid.Untold(s), p.notes...) {
		if s.All {
			lines = append(lines, n)
			continue
		}
		const below = 4
		lines = append(lines, grid.Fold(n, s.Width, below)...)
	}
	return lines
}

// someServices takes nothing, a namespace, or a service of one.
func someServices(w *within) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		*w = within{}
		if len(args) > 1 {
			return usage(c, fmt.Errorf("%d arguments given, and %s takes one at most: a namespace, or one service as NAMESPACE/NAME", len(args), c.Name()))
		}
		if len(args) == 0 {
			return nil
		}
		if !strings.Contains(args[0], "/") {
			if !events.ValidName(args[0]) {
				return usage(c, fmt.Errorf("%q is neither a namespace nor a service: write demo, or demo/web", args[0]))
			}
			w.namespace = args[0]
			return nil
		}
		id, err := events.ParseServiceID(args[0])
		if err != nil {
			return usage(c, err)
		}
		w.namespace, w.name = id.Namespace, id.Name
		return nil
	}
}

// age says for how long something has been, as people say it.
func age(since, now time.Time) string {
	const day = 24 * time.Hour
	switch d := now.Sub(since); {
	case since.IsZero():
		return ""
	case d < time.Second:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/day)
	}
}

var errLostBus = errors.New("the bus is lost")
