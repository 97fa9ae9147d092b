package snapshots

import (
	"bytes"
	"context"
	"log/slog"

	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// Last returns where the last snapshot of the fold was taken at or before a place that verifies, and the hash of its state; 0
// where there is none.
func Last(ctx context.Context, b bus.Bus, log *slog.Logger, at uint64) (uint64, string, error) {
	fold, reader, err := NewFolds(b, log, DefaultEvery).Begin(ctx, at)
	if err != nil {
		return 0, "", err
	}
	reader.Stop()
	return fold.Cluster.Sequence, fold.Cluster.Hash(), nil
}

// Put keeps the state as a snapshot, if the log has the end of its round.
func Put(ctx context.Context, b bus.Bus, c *projections.Cluster) error {
	reader, err := b.Read(ctx, bus.Log, c.Sequence)
	if err != nil {
		return err
	}
	defer reader.Stop()
	m, err := Next(ctx, reader)
	if err == nil {
		err = c.Holds(m)
	}
	if err != nil {
		return err
	}
	body, err := projections.EncodeFold(c)
	if err != nil {
		return err
	}
	return b.Objects(bus.ObjectsFolds).Put(ctx, foldName(c.LogID(), c.Sequence), bytes.NewReader(body))
}
