package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rookery-project/rookery/events"
)

const (
	// copyTries is how many consumers ReadCopy makes at most: NATS picks the server of each at random.
	copyTries = 50
	// copyQuiet is how long a copy may deliver nothing before its end counts as missing.
	copyQuiet = 10 * time.Second
)

// ErrNoCopy occurs when no reader can be made at the server: it is down, or keeps no copy.
var ErrNoCopy = errors.New("no reader can be made at the server")

// Keepers returns the names of the servers that keep the stream, in order.
func (b *JetStream) Keepers(ctx context.Context, stream Stream) ([]string, error) {
	handle, err := b.js.Stream(ctx, string(stream))
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", stream, translate(err))
	}
	info := handle.CachedInfo()
	if info.Cluster == nil {
		return []string{b.conn.ConnectedServerName()}, nil
	}
	names := []string{info.Cluster.Leader}
	for _, r := range info.Cluster.Replicas {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return names, nil
}

// ReadCopy hands over the messages of the stream as one server has them, from the first to the last that the stream's leader has. It returns
// the first error of take, ErrNoCopy, ErrNoAnswer where the copy ends before, or ErrReader where a message was lost on the way to here.
func (b *JetStream) ReadCopy(ctx context.Context, stream Stream, server string, take func(events.Message) error) error {
	state, err := b.State(ctx, stream)
	if err != nil || state.Last < state.First {
		return err
	}
	consumer, err := b.consumerAt(ctx, stream, server, state.First)
	if err != nil {
		return err
	}
	delivered, err := consumer.Messages(jetstream.PullMaxMessages(waiting), jetstream.PullHeartbeat(heartbeatEvery))
	if err != nil {
		return fmt.Errorf("read %s of %s: %w", stream, server, translate(err))
	}
	defer delivered.Stop()
	for last, count := uint64(0), uint64(0); last < state.Last; {
		msg, err := delivered.Next(jetstream.NextMaxWait(copyQuiet))
		if err != nil {
			return fmt.Errorf("%w: %s of %s ends behind %d, and that of its leader at %d: %w", ErrNoAnswer, stream, server, last, state.Last, err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		if count++; meta.Sequence.Consumer != count {
			return fmt.Errorf("read %s of %s behind %d: %w: a message was lost on the way", stream, server, last, ErrReader)
		}
		last = meta.Sequence.Stream
		if err := errors.Join(take(fromStored(msg, meta)), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// consumerAt makes consumers until one is at the server.
func (b *JetStream) consumerAt(ctx context.Context, stream Stream, server string, from uint64) (jetstream.Consumer, error) {
	for range copyTries {
		consumer, err := b.js.CreateConsumer(ctx, string(stream), consumerFrom(from))
		if err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", stream, server, translate(err))
		}
		info := consumer.CachedInfo()
		if info.Cluster == nil || info.Cluster.Leader == server {
			return consumer, nil
		}
		if err := b.js.DeleteConsumer(ctx, string(stream), info.Name); err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", stream, server, translate(err))
		}
	}
	return nil, fmt.Errorf("%w: %s of %s", ErrNoCopy, stream, server)
}
