package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// metadataRestoring marks a log that is being filled from a backup. Until it is whole, State says that there is none.
const metadataRestoring = "rookery.restoring"

// ErrRestoring occurs, beside ErrNoStream, when the log is being filled from a backup, or that was interrupted.
var ErrRestoring = errors.New("it is being filled from a backup; if no `rookery bus restore` runs, run it again")

// ErrStands occurs when a log is to be restored beside one that stands.
var ErrStands = errors.New("the bus has a log")

func restoring(c jetstream.StreamConfig) bool { return c.Metadata[metadataRestoring] != "" }

// BeginRestore makes an empty log with this identity, to be filled with Append, and returns what EndRestore knows it by. An earlier one that
// was not finished is removed. Nothing is republished from it: subscribers have had its events.
func (b *JetStream) BeginRestore(ctx context.Context, identity string, replicas int) (filling string, err error) {
	if err := b.connected().Err(); err != nil {
		return "", err
	}
	handle, err := b.js.Stream(ctx, string(Log))
	switch {
	case errors.Is(translate(err), ErrNoStream):
	case err != nil:
		return "", fmt.Errorf("look up stream %s: %w", Log, translate(err))
	case !restoring(handle.CachedInfo().Config):
		return "", ErrStands
	default:
		if err := b.js.DeleteStream(ctx, string(Log)); err != nil {
			return "", fmt.Errorf("delete the stream %s, which was not finished: %w", Log, translate(err))
		}
	}
	filling = strings.ToLower(nuid.New().Next())
	config := settings(Log, replicas)
	config.Metadata[metadataIdentity], config.Metadata[metadataRestoring], config.Metadata[metadataAccounts] = identity, filling, b.accounts()
	config.RePublish = nil
	if _, err := b.js.CreateStream(ctx, config); err != nil {
		return "", fmt.Errorf("make stream %s: %w", Log, translate(err))
	}
	return filling, nil
}

// EndRestore makes the log that was filled up to this sequence the cluster's. The error is ErrRestoring if another restore has begun since.
func (b *JetStream) EndRestore(ctx context.Context, filling string, last uint64) error {
	handle, err := b.js.Stream(ctx, string(Log))
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", Log, translate(err))
	}
	filled := handle.CachedInfo().Config
	if filled.Metadata[metadataRestoring] != filling || handle.CachedInfo().State.LastSeq != last {
		return fmt.Errorf("finish stream %s: another restore has begun: %w", Log, ErrRestoring)
	}
	config := settings(Log, filled.Replicas)
	for _, kept := range []string{metadataIdentity, metadataAccounts} {
		config.Metadata[kept] = filled.Metadata[kept]
	}
	if _, err := b.js.UpdateStream(ctx, config); err != nil {
		return fmt.Errorf("finish stream %s: %w", Log, translate(err))
	}
	return nil
}
