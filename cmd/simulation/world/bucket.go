package world

import (
	"context"

	"github.com/rookery-project/rookery/events/bus"
)

// bucket is a bus.Bucket over a client's link.
type bucket struct {
	client *client
	name   string
	bus.Bucket
}

// Bucket implements bus.Bus.
func (c *client) Bucket(ctx context.Context, name string) (bus.Bucket, error) {
	inner, err := do(ctx, c.look(ReadBucket, name).of(name), func() (bus.Bucket, error) {
		return c.world.server.Bucket(context.Background(), name)
	})
	if err != nil {
		return nil, err
	}
	return &bucket{c, name, inner}, nil
}

// Get implements bus.Bucket.
func (b *bucket) Get(ctx context.Context, key string) (bus.Entry, error) {
	return do(ctx, b.client.look(ReadBucket, key).of(b.name), func() (bus.Entry, error) {
		return b.Bucket.Get(context.Background(), key)
	})
}

// Put implements bus.Bucket.
func (b *bucket) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return do(ctx, b.client.call(WriteBucket, key).of(b.name), func() (uint64, error) {
		return b.Bucket.Put(context.Background(), key, value, revision)
	})
}

// Set implements bus.Bucket.
func (b *bucket) Set(ctx context.Context, key string, value []byte) error {
	_, err := do(ctx, b.client.call(WriteBucket, key).of(b.name), func() (struct{}, error) {
		err := b.Bucket.Set(context.Background(), key, value)
		if err == nil && b.name == bus.BucketOutput {
			b.client.world.checker.OutputKept(key, value)
		}
		return struct{}{}, err
	})
	return err
}

// Delete implements bus.Bucket.
func (b *bucket) Delete(ctx context.Context, key string, revision uint64) error {
	_, err := do(ctx, b.client.call(WriteBucket, key).of(b.name), func() (struct{}, error) {
		return struct{}{}, b.Bucket.Delete(context.Background(), key, revision)
	})
	return err
}

// All implements bus.Bucket.
func (b *bucket) All(ctx context.Context) ([]bus.Entry, error) {
	return do(ctx, b.client.look(ReadBucket, b.name).of(b.name), func() ([]bus.Entry, error) {
		return b.Bucket.All(context.Background())
	})
}

// Last implements bus.Bucket.
func (b *bucket) Last(ctx context.Context) (uint64, error) {
	return do(ctx, b.client.look(ReadBucket, b.name).of(b.name), func() (uint64, error) {
		return b.Bucket.Last(context.Background())
	})
}
