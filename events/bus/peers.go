package bus

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Peers is what the server that leads a stream says of the others that keep it.
type Peers struct {
	Leader string
	Others []Peer // by name
}

// Peer is a server that keeps a stream.
type Peer struct {
	Name string
	// Heard is how long ago the leader last heard it.
	Heard time.Duration
}

// Peers asks the server that leads the stream. It returns ErrNoQuorum if the servers say so, if none leads the
// stream, or if the leader takes most that keep it for servers that do not run.
func (b *JetStream) Peers(ctx context.Context, stream Stream) (Peers, error) {
	found, err := b.js.Stream(ctx, string(stream))
	if err != nil {
		return Peers{}, fmt.Errorf("ask for the leader of %s: %w", stream, translate(err))
	}
	info := found.CachedInfo()
	kept := b.copies(info)
	p := Peers{Leader: kept.Leader}
	if info.Cluster != nil {
		for _, r := range info.Cluster.Replicas {
			p.Others = append(p.Others, Peer{r.Name, r.Active})
		}
	}
	slices.SortFunc(p.Others, func(a, b Peer) int { return strings.Compare(a.Name, b.Name) })
	switch {
	case p.Leader == "":
		return p, kept.Err()
	case 2*len(kept.Offline) > kept.Replicas:
		return p, fmt.Errorf("%w: %s do not answer", ErrNoQuorum, strings.Join(kept.Offline, ", "))
	}
	return p, nil
}
