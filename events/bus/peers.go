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
	// Offline says that the leader takes it for one that does not run.
	Offline bool
}

// Peers asks the server that leads the stream. It returns ErrNoQuorum if the servers say so, if none leads the
// stream, or if most of those that keep it do not run.
func (b *JetStream) Peers(ctx context.Context, stream Stream) (Peers, error) {
	found, err := b.js.Stream(ctx, string(stream))
	if err != nil {
		return Peers{}, fmt.Errorf("ask for the leader of %s: %w", stream, translate(err))
	}
	cluster := found.CachedInfo().Cluster
	if cluster == nil {
		return Peers{Leader: b.conn.ConnectedServerName()}, nil
	}
	if cluster.Leader == "" {
		return Peers{}, fmt.Errorf("%w: no server leads %s", ErrNoQuorum, stream)
	}
	p := Peers{Leader: cluster.Leader}
	var offline []string
	for _, r := range cluster.Replicas {
		p.Others = append(p.Others, Peer{r.Name, r.Active, r.Offline})
		if r.Offline {
			offline = append(offline, r.Name)
		}
	}
	slices.SortFunc(p.Others, func(a, b Peer) int { return strings.Compare(a.Name, b.Name) })
	if len(offline) > len(p.Others)/2 {
		slices.Sort(offline)
		return p, fmt.Errorf("%w: %s do not answer", ErrNoQuorum, strings.Join(offline, ", "))
	}
	return p, nil
}
