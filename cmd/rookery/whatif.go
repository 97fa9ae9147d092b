package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/whatif"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// whatIf replays the past under another policy or capacity.
type whatIf struct {
	link     *link
	out      output
	policy   string
	capacity []string
	from, to string
	archive  string
}

func whatIfCommand(l *link) *cobra.Command {
	w := &whatIf{link: l}
	cmd := &cobra.Command{
		Use:   "what-if [--policy FILE] [--capacity NODE.memory=32GiB]",
		Short: "Simulate the past with another policy or capacity",
		Long: `Simulate the past with another scheduling policy or another capacity of nodes, and compare. It only reads the log and simulates in
this process, so it changes nothing in the cluster.

The simulation repeats two kinds of past events, each at its time. One is what operators wanted: specs, scales, drops, suspensions,
drains, pauses, allowed nodes, rebalancings, and the results of groups and rollbacks. The other is what nodes did: joined, silent,
returned, degraded, forgotten.

The simulation decides everything else again. Instances serve, stop and complete after the median times in the log. Canaries are
promoted at once. No instance fails, because failures do not depend on the policy. The new policy replaces every past policy in the
whole range. A place is
` + placeForms + `.

The columns: REAL is the past from the log. SAME is the simulation with the past policy and capacity, so its difference from REAL is
the error of the simulation. OTHER is the simulation with your change. Compare OTHER with SAME.

The file is the body of rookery.cmd.cluster.policy; missing fields get their defaults. You can repeat --capacity, with cpu, memory
or disk. The range has at most 1,000,000 events and 400 days.

Exit codes: 0 compared, 1 error, 2 wrong usage, 130 Ctrl-C.`,
		Example: `  echo '{"profile":"optimize-utilization"}' | rookery what-if --policy -
  rookery what-if --policy tight.json --from 24h
  rookery what-if --policy tight.json --from 2026-11-01T00:00:00Z --to 2026-11-02T00:00:00Z
  rookery what-if --capacity node-0.memory=32GiB --capacity node-0.cpu=8 --from 4711 --output json
The same with the nats CLI, within 30 seconds:
  nats req --timeout 35s rookery.api.what-if '{"policy":{"profile":"optimize-utilization"},"from":4711}'`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return w.run(cmd) },
	}
	w.out.flag(cmd)
	f := cmd.Flags()
	f.StringVarP(&w.policy, "policy", "p", "", "`file` with another policy as JSON; - for standard input")
	f.StringArrayVar(&w.capacity, "capacity", nil, "another capacity of a node, as `NODE.memory=32GiB`; repeatable")
	f.StringVar(&w.from, "from", "", "first `place` in the log (default its beginning)")
	f.StringVar(&w.to, "to", "", "last `place` in the log (default its end)")
	archiveFlag(cmd, &w.archive)
	return cmd
}

func (w *whatIf) run(cmd *cobra.Command) error {
	q, err := w.question(cmd)
	if err != nil {
		return err
	}
	b, done, err := w.link.open("rookery what-if")
	if err != nil {
		return err
	}
	defer done()
	state, err := stateOfLog(cmd.Context(), b)
	if err != nil {
		return err
	}
	a, err := openArchive(w.archive, state.Identity)
	if err != nil {
		return err
	}
	log, end := watched(a.wholeLog(cmd.Context(), b, 1, state.Last), 2, state.Last)
	report, err := whatif.Run(log, q)
	end()
	switch {
	case errors.Is(err, whatif.ErrQuestion):
		return usage(cmd, err)
	case err != nil:
		return err
	case w.out.json():
		return w.out.print(cmd.OutOrStdout(), report)
	}
	return printWhatIf(cmd.OutOrStdout(), report)
}

func stateOfLog(ctx context.Context, b bus.Bus) (bus.State, error) {
	call, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	return b.State(call, bus.Log)
}

// question reads the flags.
func (w *whatIf) question(cmd *cobra.Command) (q whatif.Question, err error) {
	if w.policy == "" && len(w.capacity) == 0 {
		return q, usage(cmd, errors.New("what-if needs a change: give --policy or --capacity"))
	}
	if w.policy != "" {
		body, err := readOne(cmd.InOrStdin(), w.policy, "cluster", "policy")
		if err != nil {
			return q, err
		}
		c, err := events.ParseClusterPolicy(body)
		if err != nil {
			return q, fmt.Errorf("read the policy in %s: %w", w.policy, err)
		}
		q.Policy = new(c.Policy())
	}
	if q.Capacity, err = whatif.ParseCapacity(w.capacity); err != nil {
		return q, usage(cmd, err)
	}
	if q.From, q.To, err = places(w.from, w.to); err != nil {
		return q, usage(cmd, err)
	}
	return q, nil
}

// places reads two places in the log. An empty text gives no place.
func places(from, to string) (first, last whatif.Moment, err error) {
	now := time.Now()
	begin, err := parsePlace(from, now)
	if err != nil {
		return first, last, fmt.Errorf("--from %w", err)
	}
	end, err := parsePlace(to, now)
	if err != nil {
		return first, last, fmt.Errorf("--to %w", err)
	}
	return whatif.Moment{Sequence: begin.sequence, Time: begin.time}, whatif.Moment{Sequence: end.sequence, Time: end.time}, nil
}

// watched returns the log with a progress line on the terminal, which appears after one second and disappears with end. passes is how
// often the caller reads the log.
func watched(log whatif.Log, passes int, last uint64) (whatif.Log, func()) {
	pass := 0
	tell, end := reporting(last)
	watches := func(yield func(events.Message, error) bool) {
		pass++
		for m, err := range log {
			tell(fmt.Sprintf("reading %d of %d", pass, passes), m.Sequence)
			if !yield(m, err) {
				return
			}
		}
	}
	return watches, end
}

// reporting returns a function that says on the terminal what is being done, and at which event of the log. The line appears after one second and
// disappears with end.
func reporting(last uint64) (tell func(what string, sequence uint64), end func()) {
	if !isTerminal(os.Stderr) {
		return func(string, uint64) {}, func() {}
	}
	began, shown := time.Now(), time.Time{}
	tell = func(what string, sequence uint64) {
		if now := time.Now(); now.Sub(began) > time.Second && now.Sub(shown) > 100*time.Millisecond {
			shown = now
			fmt.Fprintf(os.Stderr, "\r\x1b[K%s: %s, event %d of %d", now.Sub(began).Round(time.Second), what, sequence, last)
		}
	}
	return tell, func() {
		if !shown.IsZero() {
			fmt.Fprint(os.Stderr, "\r\x1b[K")
		}
	}
}

// printWhatIf writes the comparison as tables.
func printWhatIf(out io.Writer, r whatif.Report) error {
	_, err := fmt.Fprintf(out, "Sequence %d to %d of the log: %d events in %d rounds over %s. An instance serves after %s and is gone after %s.\n",
		r.From, r.To, r.Events, r.Rounds, r.Ended.Sub(r.Began).Round(time.Second), seconds(r.StartSeconds), seconds(r.StopSeconds))
	if err != nil {
		return err
	}
	row := func(name string, of func(whatif.Figures) string) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s", name, of(r.Real), of(r.Same), of(r.Other))
	}
	err = table(out, "\tREAL\tSAME\tOTHER", []string{
		row("instances placed", func(f whatif.Figures) string { return fmt.Sprint(f.Placed) }),
		row("  of them replaced", func(f whatif.Figures) string { return fmt.Sprint(f.Replaced) }),
		row("  of them on another node", func(f whatif.Figures) string { return fmt.Sprint(f.Moved) }),
		row("lost with their nodes", func(f whatif.Figures) string { return fmt.Sprint(f.Lost) }),
		row("slots waited for a node", func(f whatif.Figures) string { return seconds(f.Unplaced) }),
		row("skew over zones, mean", func(f whatif.Figures) string { return fmt.Sprintf("%.2f", f.Skew) }),
		row("skew over zones, worst", func(f whatif.Figures) string { return fmt.Sprint(f.WorstSkew) }),
		row("CPU taken, mean", func(f whatif.Figures) string { return percent(f.Mean.CPU) }),
		row("CPU taken, fullest node", func(f whatif.Figures) string { return percent(f.Peak.CPU) }),
		row("memory taken, mean", func(f whatif.Figures) string { return percent(f.Mean.Memory) }),
		row("memory taken, fullest node", func(f whatif.Figures) string { return percent(f.Peak.Memory) }),
	})
	if err != nil {
		return err
	}
	if err := printWhatIfServices(out, r); err != nil {
		return err
	}
	rows := make([]string, len(r.Nodes))
	for i, n := range r.Nodes {
		rows[i] = fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s", n.Node, percent(n.Real.Mean.CPU), percent(n.Same.Mean.CPU), percent(n.Other.Mean.CPU),
			percent(n.Real.Mean.Memory), percent(n.Same.Mean.Memory), percent(n.Other.Mean.Memory))
	}
	fmt.Fprintln(out)
	return table(out, "NODE\tCPU REAL\tSAME\tOTHER\tMEMORY REAL\tSAME\tOTHER", rows)
}

// printWhatIfServices prints the services whose figures differ.
func printWhatIfServices(out io.Writer, r whatif.Report) error {
	var rows []string
	for _, s := range r.Services {
		if s.Same != s.Other {
			rows = append(rows, fmt.Sprintf("%s\t%d\t%d\t%d\t%s\t%s\t%s\t%.2f\t%.2f\t%.2f", s.Service, s.Real.Moved, s.Same.Moved, s.Other.Moved,
				seconds(s.Real.Unplaced), seconds(s.Same.Unplaced), seconds(s.Other.Unplaced), s.Real.Skew, s.Same.Skew, s.Other.Skew))
		}
	}
	fmt.Fprintln(out)
	if len(rows) == 0 {
		_, err := fmt.Fprintf(out, "OTHER equals SAME for all %d services.\n", len(r.Services))
		return err
	}
	return table(out, "SERVICE\tMOVED REAL\tSAME\tOTHER\tWAITED REAL\tSAME\tOTHER\tSKEW REAL\tSAME\tOTHER", rows)
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }
