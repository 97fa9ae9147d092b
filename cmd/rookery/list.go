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
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// page is the content of a list.
type page struct {
	grid grid.Table
	// notes are lines below the table.
	notes []string
	// values are the whole values of the views, for scripts.
	values []value
}

// value is the value of a view, with its unique key.
type value struct {
	key string
	of  any
}

// list is a command that shows views, once or whenever they change.
type list struct {
	link    *link
	out     output
	watch   bool
	chosen  selection
	buckets []string
	// measured says that the list shows what instances use.
	measured bool
	// page lays out the views at this time. It depends on its arguments only.
	page func(s *seen, now time.Time) page
	// missing returns an error if the object that the operator named does not exist.
	missing func(s *seen) error
}

const watchHelp = `With --watch it also shows changes, until Ctrl-C ends it with exit code 130. On a terminal it redraws the table with every
change. In a pipe it writes a line for each changed row (with --output json, a value on one line), and "gone" for each removed row.`

const fitHelp = `On a narrow terminal the table hides its least important columns and cuts long texts. The reasons of problems then stand below the
table. --output wide shows all columns, and json and yaml print whole values. In a pipe the table hides only the columns of wide, and cuts nothing.`

func (l *list) flags(cmd *cobra.Command) {
	l.out.listFlag(cmd)
	l.chosen.flags(cmd, l.buckets)
	cmd.Flags().BoolVarP(&l.watch, "watch", "w", false, "show changes too, until Ctrl-C")
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
	s, err := readSeen(ctx, b, l.buckets)
	if err == nil && l.measured {
		err = s.readUsage(ctx, b)
	}
	missing := error(nil)
	if err == nil {
		missing = l.missing(s)
		if l.chosen.namespace != "" {
			missing = cmp.Or(missing, s.missingOf(within{namespace: l.chosen.namespace}))
		}
	}
	if l.watch { // follow reconnects if the bus is lost
		if missing != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: waiting until it exists\n", missing)
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

// readSeen reads every value of the views in the buckets.
func readSeen(ctx context.Context, b *bus.JetStream, buckets []string) (*seen, error) {
	s, stale := newSeen(), ""
	for _, name := range buckets {
		changes, late, err := changesIn(ctx, b, name, api.ListQuestion{})
		if err != nil {
			return nil, err
		}
		stale = cmp.Or(stale, late)
		if err := s.take(bus.Sight{Changes: changes}); err != nil {
			return nil, err
		}
	}
	warn(stale)
	return s, nil
}

// print writes the page once.
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

// lines returns the lines of the table and of the notes below it.
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

// someServices accepts no argument, a namespace, or a service.
func someServices(w *within) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		*w = within{}
		if len(args) > 1 {
			return usage(c, fmt.Errorf("%d arguments given, but %s takes at most one: NAMESPACE or NAMESPACE/NAME", len(args), c.Name()))
		}
		if len(args) == 0 {
			return nil
		}
		if !strings.Contains(args[0], "/") {
			if !events.ValidName(args[0]) {
				return usage(c, fmt.Errorf("%q is neither a namespace nor a service: want NAMESPACE or NAMESPACE/NAME, as in demo/web", args[0]))
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

// age formats a duration with its largest unit, as kubectl does.
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
