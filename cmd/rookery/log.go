package main

import (
	"context"
	"errors"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// before returns the state in which the event at this sequence was decided.
func before(ctx context.Context, b bus.Bus, sequence uint64) (*projections.Cluster, error) {
	f := projections.NewFold()
	var open []events.Record
	err := eachOfLog(ctx, b, 1, func(m events.Message) (bool, error) {
		if m.Sequence >= sequence {
			return false, nil
		}
		records, err := f.Take(m)
		if err != nil || records != nil {
			open = nil
			return true, err
		}
		if r, err := events.ParseRecord(m); err == nil { // else no round will close over it
			open = append(open, r)
		}
		return true, nil
	})
	for _, r := range open { // decided before it in the same round
		if err == nil {
			err = f.Cluster.Apply(r)
		}
	}
	return f.Cluster, err
}

// eachOfLog gives every message of the log from the sequence on, up to its present end, to take, until that reports false.
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
				return errors.New("the log cannot be read any more")
			}
			if more, err := take(m); err != nil || !more || m.Sequence >= state.Last {
				return err
			}
		}
	}
}
