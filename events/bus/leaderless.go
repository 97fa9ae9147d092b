package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// leadersAnswerIn is how long the leader of a stream may take to answer after the first server did that takes it for leaderless.
const leadersAnswerIn = time.Second

// InMemory lists the streams and buckets that the servers keep in memory alone. Little is lost with them: nodes send their statuses again, the
// leading coordinator writes its views again, and a lease is short.
var InMemory = slices.Concat([]string{string(Statuses), string(Metrics)}, Views, []string{BucketLease, BucketOutput})

// streamBelow returns the name of the stream that keeps a stream or a bucket.
func streamBelow(name string) string {
	if slices.Contains(Streams, Stream(name)) {
		return name
	}
	return "KV_" + name
}

// Leaderless implements Bus.
func (b *JetStream) Leaderless(ctx context.Context) ([]string, error) {
	if b.conn.ConnectedClusterName() == "" {
		return nil, nil
	}
	if _, err := b.js.AccountInfo(ctx); err != nil { // the leader of all streams alone answers
		return nil, fmt.Errorf("ask the leader of all streams: %w", translate(err))
	}
	var found []string
	for _, name := range InMemory {
		config, err := b.leaderless(ctx, streamBelow(name))
		if err != nil {
			return nil, err
		}
		if config != nil {
			found = append(found, name)
		}
	}
	return found, nil
}

// leaderless returns the settings of the stream if servers say that no server leads it, and none says otherwise; else nil. One that is cut off
// from the leader says so, too: a leader answers first, or soon after.
func (b *JetStream) leaderless(ctx context.Context, stream string) (*jetstream.StreamConfig, error) {
	var config *jetstream.StreamConfig
	err := b.askAll(ctx, "$JS.API.STREAM.INFO."+stream, leadersAnswerIn, func(m *nats.Msg) (more bool) {
		var info jetstream.StreamInfo
		if json.Unmarshal(m.Data, &info) != nil || info.Cluster == nil || info.Cluster.Leader != "" {
			config = nil
			return false
		}
		config = &info.Config
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("ask who leads %s: %w", stream, err)
	}
	return config, nil
}

// Replace implements Bus.
func (b *JetStream) Replace(ctx context.Context, name string) error {
	stream := streamBelow(name)
	config, err := b.leaderless(ctx, stream)
	if err != nil || config == nil {
		return err
	}
	if err := b.js.DeleteStream(ctx, stream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("remove %s, which no server leads: %w", name, translate(err))
	}
	if _, has := config.Metadata[metadataIdentity]; has {
		config.Metadata[metadataIdentity] = strings.ToLower(nuid.New().Next()) // else the leader may take the next messages for those that follow what it has read
	}
	if _, err := b.js.CreateStream(ctx, *config); err != nil {
		return fmt.Errorf("make %s again: %w", name, translate(err))
	}
	return nil
}
