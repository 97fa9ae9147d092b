package main

import (
	"context"
	"errors"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// eachOfLog passes each message of the log to take, from the sequence to the current end, until take returns false.
func eachOfLog(ctx context.Context, b bus.Bus, from uint64, take func(events.Message) (bool, error)) error {
	call, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	state, err := b.State(call, bus.Log)
	if err != nil {
		return err
	}
	if state.Last < from {
		return nil
	}
	reader, err := b.Read(ctx, bus.Log, from)
	if err != nil {
		return err
	}
	defer reader.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m, ok := <-reader.Messages():
			if !ok {
				return errors.New("lost the subscription to the log: run this again")
			}
			if more, err := take(m); err != nil || !more || m.Sequence >= state.Last {
				return err
			}
		}
	}
}
