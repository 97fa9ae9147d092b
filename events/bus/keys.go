package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Keys returns the keys of a bucket, without their values, in no order. A bucket that is missing is not made, and has none.
func (b *JetStream) Keys(ctx context.Context, name string) ([]string, error) {
	kv, err := b.js.KeyValue(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", name, translate(err))
	}
	keys, err := kv.Keys(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoKeysFound) {
		return nil, fmt.Errorf("list %s: %w", name, translate(err))
	}
	return keys, nil
}
