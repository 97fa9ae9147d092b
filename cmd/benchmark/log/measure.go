package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// figures are what one start comes to.
type figures struct {
	ready time.Duration
	// peak is the most memory of the process in bytes.
	peak int64
}

// measure starts coordinators on the log one after the other, and prints what they took.
func (s *scene) measure(ctx context.Context, w written) error {
	disk, err := s.onDisk()
	if err != nil {
		return err
	}
	row := func(what, how string, args ...any) { fmt.Printf("%-58s %12s\n", what, fmt.Sprintf(how, args...)) }
	row("events in the log", "%d", w.events)
	row("rounds", "%d", w.rounds)
	row("written, events a second", "%.0f", float64(w.events)/w.took.Seconds())
	row("on disk, MB", "%.0f", float64(disk)/1e6)
	began := time.Now()
	first, err := s.begin(ctx, func(ctx context.Context) error {
		row("start from the first message, s", "%.1f", time.Since(began).Seconds())
		return s.snapshots(ctx, row)
	})
	if err != nil {
		return err
	}
	row("its memory, with a fold beside it for the snapshots, MB", "%.0f", float64(first.peak)/1e6)
	var past []time.Duration
	cold, err := s.begin(ctx, func(context.Context) error { return nil })
	if err != nil {
		return err
	}
	row("start from the last snapshot, s", "%.2f", cold.ready.Seconds())
	row("its memory, MB", "%.0f", float64(cold.peak)/1e6)
	asked, err := s.begin(ctx, func(ctx context.Context) error {
		past, err = s.middle(ctx, w.events)
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(past)
	row("the state in the middle, s: median", "%.2f", past[len(past)/2].Seconds())
	row("  worst", "%.2f", past[len(past)-1].Seconds())
	row("its memory, MB", "%.0f", float64(asked.peak)/1e6)
	fmt.Printf("log of %d events: start %.2f s from the last snapshot, %.1f s from the first message; the state in the middle %.2f s; %.0f MB\n",
		w.events, cold.ready.Seconds(), first.ready.Seconds(), past[len(past)/2].Seconds(), float64(asked.peak)/1e6)
	return nil
}

// begin starts a coordinator, waits until it leads with the whole log folded, and calls do.
func (s *scene) begin(ctx context.Context, do func(context.Context) error) (f figures, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := s.start(ctx)
	if err != nil {
		return f, err
	}
	state, err := s.bus.State(ctx, bus.Log)
	if err == nil {
		err = until(ctx, func() bool {
			now, err := s.ask(ctx, "")
			return err == nil && now.Leading && now.Sequence >= state.Last
		})
	}
	f.ready = time.Since(p.began)
	if err == nil {
		err = do(ctx)
	}
	if err != nil {
		cancel()
		_ = p.cmd.Wait()
		return f, err
	}
	f.peak, err = p.stop()
	return f, err
}

// snapshots waits until the leader has taken snapshots of the whole log.
func (s *scene) snapshots(ctx context.Context, row func(string, string, ...any)) error {
	began := time.Now()
	if err := s.bus.Send(events.Message{
		Subject: events.CommandSubject(events.ServiceID{Namespace: "demo", Name: "s0"}, "ensure"), Body: []byte(`{"image":"localhost/web:1","scale":1}`),
	}); err != nil {
		return err
	}
	state, err := s.bus.State(ctx, bus.Log)
	if err != nil {
		return err
	}
	var all []bus.Object
	err = until(ctx, func() bool {
		all, err = s.bus.Objects(bus.ObjectsFolds).All(ctx)
		return err == nil && slices.ContainsFunc(all, func(o bus.Object) bool {
			return o.Name[strings.LastIndex(o.Name, "/")+1:] >= fmt.Sprintf("%020d", state.Last-min(state.Last, snapshots.DefaultEvery))
		})
	})
	if err != nil {
		return err
	}
	took, largest := time.Since(began), int64(0)
	for _, o := range all {
		largest = max(largest, o.Size)
	}
	row("snapshots of the whole log, taken beside the loop, s", "%.1f", took.Seconds())
	row("  how many", "%d", len(all))
	row("  the largest, MB", "%.1f", float64(largest)/1e6)
	return nil
}

// middle asks for the state at places around the middle of the log.
func (s *scene) middle(ctx context.Context, last uint64) (took []time.Duration, err error) {
	const places, apart = 9, 37
	for i := range uint64(places) {
		at := last/4 + i*last/(2*places) + apart*i
		began := time.Now()
		if _, err := s.ask(ctx, fmt.Sprintf(`{"at_seq":%d,"service":"demo/s1"}`, at)); err != nil {
			return nil, fmt.Errorf("ask for the state at %d: %w", at, err)
		}
		took = append(took, time.Since(began))
		fmt.Fprintf(os.Stderr, "the state at %d took %s\n", at, took[i].Round(time.Millisecond))
	}
	return took, nil
}
