package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

func topCommand(l *link) *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Show nodes, services, operations and events live",
		Long: `Show the cluster on the whole terminal, and every change at once: nodes with their reserved capacity, services, operations with
their phases and waits, and events. Keys open what there is about a marked row. It needs at least 80 columns and 24 lines. If the
bus is lost, it reconnects.

` + topKeysHelp,
		Example: `  rookery top
The same with the nats CLI:
  nats kv watch rookery_services; nats kv watch rookery_operations; nats sub 'rookery.event.>'`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runTop(cmd, l) },
	}
}

// topViews are the buckets of the views that the model shows.
var topViews = []string{bus.BucketServices, bus.BucketInstances, bus.BucketNodes, bus.BucketOperations}

// runTop connects the bus to the model: it sends changes and events to the model until the operator quits.
func runTop(cmd *cobra.Command, l *link) error {
	if !isTerminal(os.Stdin) || !isTerminal(cmd.OutOrStdout()) {
		return usage(cmd, errors.New("top needs a terminal: in a pipe, use `rookery services --watch` or `rookery events --follow`"))
	}
	b, done, err := l.open("rookery top")
	if err != nil {
		return err
	}
	defer done()
	call, cancelCall := context.WithTimeout(cmd.Context(), busTimeout)
	defer cancelCall()
	state, err := logState(call, b)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	style := (&output{}).style(cmd.OutOrStdout())
	wanted := make(chan topReading)
	want := func(r topReading) {
		select {
		case wanted <- r:
		case <-ctx.Done():
		}
	}
	program := tea.NewProgram(newTop(time.Now(), style.Colour, want), tea.WithContext(ctx), tea.WithoutSignalHandler())
	var doors sync.WaitGroup
	defer doors.Wait()
	defer cancel()
	doors.Go(func() { b.Watch(ctx, topViews, listsOf(b), func(s bus.Sight) { program.Send(s) }) })
	doors.Go(func() { hearEvents(ctx, b, state, func(e topEvents) { program.Send(e) }) })
	doors.Go(func() { readWanted(ctx, l, wanted, func(t topText) { program.Send(t) }) })
	doors.Go(func() { tellTime(ctx, func(t topTime) { program.Send(t) }) })
	_, err = program.Run()
	switch {
	case errors.Is(err, tea.ErrInterrupted):
		return &codedError{exitSignal, errors.New("interrupted")}
	case cmd.Context().Err() != nil:
		return cmd.Context().Err()
	}
	return err
}

func tellTime(ctx context.Context, tell func(topTime)) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-second.C:
			tell(topTime(now))
		}
	}
}

// hearEvents sends the last events of the log and all new ones. It retries while it cannot read the log.
func hearEvents(ctx context.Context, b *bus.JetStream, state bus.State, tell func(topEvents)) {
	const before = 200
	next := state.First
	if state.Last > before {
		next = max(next, state.Last-before)
	}
	w := waves{}
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for ctx.Err() == nil {
		if reader, err := b.Read(ctx, bus.Log, max(next, 1)); err == nil {
			next = hear(ctx, reader, w, next, tell)
			reader.Stop()
		}
		select {
		case <-ctx.Done():
		case <-again.C:
		}
	}
}

// hear sends the reader's events until the reader ends, and returns the next sequence. It sends all waiting events in one message.
func hear(ctx context.Context, reader bus.Reader, w waves, next uint64, tell func(topEvents)) uint64 {
	var rounds projections.Rounds
	for {
		var m events.Message
		var ok bool
		select {
		case <-ctx.Done():
			return next
		case m, ok = <-reader.Messages():
		}
		var told topEvents
		for more := ok; more && len(told) < mostEvents; {
			next = m.Sequence + 1
			closed, _ := rounds.Take(m)
			for _, m := range closed[:max(len(closed), 1)-1] {
				told = append(told, w.describe(m, time.Now()))
			}
			select {
			case m, ok = <-reader.Messages():
				more = ok
			default:
				more = false
			}
		}
		if len(told) > 0 {
			tell(told)
		}
		if !ok {
			return next
		}
	}
}
