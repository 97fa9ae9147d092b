package main

import (
	"context"
	"os"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/embedded"
)

// store ends a round: what it decided is taken into the state for good.
type store func(*coordinator.Turn) error

// unlogged ends rounds without a log.
func unlogged(t *coordinator.Turn) error {
	c := t.Cluster
	c.Close(c.Sequence+uint64(len(t.Records))+1, events.RoundClosed{Round: c.Round + 1, Epoch: 1, Leader: leader, Now: t.Now}, events.Chain{})
	return nil
}

const leader = "bench"

// withLog gives use a store that ends rounds as the leader does: encoded, sealed, and appended as one batch that the
// server acknowledges once it is on the disk. The server is one of this process, in a folder that goes with it.
func withLog(use func(store) (result, error)) (result, error) {
	dir, err := os.MkdirTemp("", "placement-")
	if err != nil {
		return result{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := embedded.Start(dir, "127.0.0.1", embedded.AnyPort)
	if err != nil {
		return result{}, err
	}
	defer server.Stop()
	conn, err := nats.Connect(server.URL())
	if err != nil {
		return result{}, err
	}
	defer conn.Close()
	b, err := bus.New(conn)
	if err != nil {
		return result{}, err
	}
	const patience = 10 * time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.Init(ctx, 1); err != nil {
		return result{}, err
	}
	l := &log{bus: b, ctx: ctx}
	return use(l.store)
}

// log is where rounds are appended, and where it ends.
type log struct {
	bus  *bus.JetStream
	ctx  context.Context
	last uint64
}

func (l *log) store(t *coordinator.Turn) error {
	c := t.Cluster
	closed := events.RoundClosed{Round: c.Round + 1, Epoch: 1, Leader: leader, Now: t.Now}
	round, err := runner.Seal(t.Records, closed, c.LogID(), l.last, c.Chain, nil)
	if err != nil {
		return err
	}
	if l.last, err = l.bus.Append(l.ctx, bus.Log, l.last, round.Messages); err != nil {
		return err
	}
	c.Close(c.Sequence+uint64(len(round.Messages)), round.Closed, round.Chain)
	return nil
}
