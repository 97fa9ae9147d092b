package snapshots

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// Last returns where the last snapshot of the fold was taken at or before a place that verifies, and the hash of its state; 0
// where there is none. Where there are signers, one of them has signed it, or rounds of the log were not signed there.
func Last(ctx context.Context, b bus.Bus, log *slog.Logger, at uint64, signers []*events.Signer) (uint64, string, error) {
	fold, reader, err := NewFolds(b, log, DefaultEvery, signers).Begin(ctx, at)
	if err != nil {
		return 0, "", err
	}
	reader.Stop()
	return fold.Cluster.Sequence, fold.Cluster.Hash(), nil
}

// Put keeps the state as a snapshot, if the log has the end of its round. A signer signs it; nil for none.
func Put(ctx context.Context, b bus.Bus, c *projections.Cluster, signer *events.Signer) error {
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
	snapshot, err := projections.SnapshotOf(c, signer)
	if err != nil {
		return err
	}
	return store(ctx, b.Objects(bus.ObjectsFolds), foldName(c.LogID(), c.Sequence), snapshot)
}

// store puts the snapshot into the object store as it is encoded.
func store(ctx context.Context, objects bus.Objects, name string, s projections.FoldSnapshot) error {
	content, encoded := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = encoded.CloseWithError(s.Write(encoded))
	}()
	err := objects.Put(ctx, name, content)
	err = errors.Join(err, content.Close()) // what is still being encoded ends
	<-ended
	return err
}
