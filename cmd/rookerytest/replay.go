package rookerytest

import (
	"context"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// CheckReplay fails the test unless folding the log from its first message gives the state of the coordinator, byte for byte. Start runs it
// at the end of every test that has a coordinator.
func (c *Cluster) CheckReplay() {
	c.t.Helper()
	var live, replayed string
	var at uint64
	c.Until("a coordinator says its state while the log stands still", func() bool {
		state := c.State()
		live, at = state.Hash, state.Sequence
		fold := c.replay(at, func([]events.Record) {})
		replayed = fold.Cluster.Hash()
		return fold.Cluster.Sequence == at // else a round that is not closed yet ends here, or a standby lags
	})
	if live != replayed {
		c.t.Errorf("at log sequence %d the coordinator's state has hash %s, and the log replayed %s", at, live, replayed)
	}
}

// Replay folds the log from its first message to its end, hands over the records of each round, and returns the state.
// A gap, a fork or a broken hash fails the test.
func (c *Cluster) Replay(each func([]events.Record)) *projections.Cluster {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	state, err := c.bus.State(ctx, bus.Log)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.replay(state.Last, each).Cluster
}

// replay folds the log from its first message to the sequence.
func (c *Cluster) replay(to uint64, each func([]events.Record)) *projections.Fold {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	reader, err := c.bus.Read(ctx, bus.Log, 1)
	if err != nil {
		c.t.Fatal(err)
	}
	defer reader.Stop()
	fold := projections.NewFold()
	for fold.Last() < to {
		select {
		case m, ok := <-reader.Messages():
			if !ok {
				c.t.Fatalf("the log ended behind sequence %d, and the state is that of %d", fold.Last(), to)
			}
			records, err := fold.Take(m)
			if err != nil {
				c.t.Fatalf("the log does not replay: %v", err)
			}
			each(records)
		case <-ctx.Done():
			c.t.Fatalf("the log ends behind sequence %d, and the state is that of %d", fold.Last(), to)
		}
	}
	return fold
}
