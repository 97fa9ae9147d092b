package runner

import (
	"context"
	"time"
)

const (
	// leaderlessFor is how long a stream or bucket in memory has no leader before it is made again. Servers elect one in less than that.
	leaderlessFor = 10 * time.Second
	// lookForLeadersIn bounds a look at who leads the streams and buckets in memory, and making one again.
	lookForLeadersIn = 20 * time.Second
)

// keepLed makes the streams and buckets again that the servers keep in memory alone and that stay without a leader, until ctx ends. After some
// of the servers have ended one shortly after the other, NATS may leave each copy waiting for a leader from which to copy, for good. Nodes and
// the leading coordinator fill them again, as after a restart of all servers. Standbys do so, too: without the bucket of the lease none leads.
func (c *Coordinator) keepLed(ctx context.Context) {
	since := map[string]time.Time{}
	look := time.NewTicker(checkEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			since = c.replaceLeaderless(ctx, since)
		}
	}
}

// replaceLeaderless makes again what has had no leader for long. It takes and returns since when each has had none.
func (c *Coordinator) replaceLeaderless(ctx context.Context, before map[string]time.Time) map[string]time.Time {
	ctx, cancel := context.WithTimeout(ctx, lookForLeadersIn)
	defer cancel()
	names, err := c.Bus.Leaderless(ctx)
	if err != nil {
		return nil // the servers do not agree on a leader of all streams, so that nothing can be made again
	}
	now, since := time.Now(), make(map[string]time.Time, len(names))
	for _, name := range names {
		begun, known := before[name]
		if !known {
			begun = now
		}
		if since[name] = begun; now.Sub(begun) < leaderlessFor {
			continue
		}
		if err := c.Bus.Replace(ctx, name); err != nil {
			c.Log.Warn("no NATS server leads what they keep in memory; trying again to make it again", "name", name, "error", err, "advice", advice(err))
			continue
		}
		c.Log.Warn("made again what NATS servers keep in memory, as none of them led it", "name", name,
			"advice", "none needed: nodes and the leading coordinator fill it again")
	}
	return since
}
