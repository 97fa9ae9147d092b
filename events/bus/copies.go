package bus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Copies is how the servers keep one stream, bucket or object store.
type Copies struct {
	Name string `json:"name"`
	// Storage is file or memory.
	Storage string `json:"storage,omitempty"`
	// Replicas is how many servers keep it; 0 if no server leads it.
	Replicas int `json:"replicas"`
	// Leader is the server that takes its messages; "" for none.
	Leader string `json:"leader,omitempty"`
	// Lag is how many messages the server that is furthest behind still lacks.
	Lag uint64 `json:"lag"`
	// Offline are the servers that keep it and do not answer.
	Offline []string `json:"offline,omitempty"`
	// Bytes is what it holds on each server.
	Bytes uint64 `json:"bytes"`
}

// Err returns nil if all servers that keep it run and one of them leads. Without a leader it returns ErrNoQuorum, but for InMemory: those may
// have none although all servers run.
func (c Copies) Err() error {
	switch {
	case c.Leader == "" && slices.Contains(InMemory, c.Name):
		return fmt.Errorf("%s: no server leads it: a coordinator makes it again if that lasts", c.Name)
	case c.Leader == "":
		return fmt.Errorf("%s: %w: no server leads it", c.Name, ErrNoQuorum)
	case len(c.Offline) > 0:
		return fmt.Errorf("%s: %d of %d servers that keep it do not answer: %s", c.Name, len(c.Offline), c.Replicas, strings.Join(c.Offline, ", "))
	}
	return nil
}

// copiesFor is how long Copies waits for the leader of one stream.
const copiesFor = 2 * time.Second

// Copies returns how the servers keep each stream, bucket and object store of Rookery, by name. It asks the leader of all streams for their
// names, and then the leader of each at once. One that does not answer in time counts as none.
func (b *JetStream) Copies(ctx context.Context) ([]Copies, error) {
	var streams []string
	names := b.js.StreamNames(ctx)
	for name := range names.Name() {
		if ours(name) {
			streams = append(streams, name)
		}
	}
	if err := names.Err(); err != nil {
		return nil, fmt.Errorf("list the streams: %w", translate(err))
	}
	all := make([]Copies, len(streams))
	var asked sync.WaitGroup
	for i, name := range streams {
		asked.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, copiesFor)
			defer cancel()
			all[i] = Copies{Name: storeName(name)}
			if found, err := b.js.Stream(ctx, name); err == nil {
				all[i] = b.copies(found.CachedInfo())
			}
		})
	}
	asked.Wait()
	slices.SortFunc(all, func(a, b Copies) int { return cmp.Compare(a.Name, b.Name) })
	return all, ctx.Err()
}

// The prefixes of the streams below buckets and object stores, as NATS names them.
var below = []string{"KV_", "OBJ_"}

func storeName(stream string) string {
	for _, prefix := range below {
		stream = strings.TrimPrefix(stream, prefix)
	}
	return stream
}

func ours(stream string) bool {
	return strings.HasPrefix(stream, "ROOKERY_") || (stream != storeName(stream) && strings.HasPrefix(storeName(stream), "rookery_"))
}

func (b *JetStream) copies(info *jetstream.StreamInfo) Copies {
	c := Copies{
		Name: storeName(info.Config.Name), Storage: strings.ToLower(info.Config.Storage.String()), Replicas: info.Config.Replicas, Bytes: info.State.Bytes,
		Leader: b.conn.ConnectedServerName(),
	}
	if info.Cluster == nil {
		return c
	}
	c.Leader = info.Cluster.Leader
	for _, r := range info.Cluster.Replicas {
		if r.Offline {
			c.Offline = append(c.Offline, r.Name)
		}
		c.Lag = max(c.Lag, r.Lag)
	}
	slices.Sort(c.Offline)
	return c
}
