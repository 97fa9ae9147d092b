package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// LeaseAge is how long a lease lasts unless its holder renews it.
	LeaseAge = 2 * time.Second
	// OutputAge is how long it stays known what a container printed.
	OutputAge = 24 * time.Hour
	// markerAge is how long a bucket remembers that a key was deleted, for those who watch.
	markerAge = time.Hour
)

type bucket struct {
	bus *JetStream
	kv  jetstream.KeyValue
}

// Bucket implements Bus. Buckets are kept in memory, but for that of the configs: views are made again from the log, and
// a lease is short.
func (b *JetStream) Bucket(ctx context.Context, name string) (Bucket, error) {
	kv, err := b.js.KeyValue(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = b.makeBucket(ctx, name)
	}
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", name, b.heard(err))
	}
	return bucket{b, kv}, nil
}

func (b *JetStream) makeBucket(ctx context.Context, name string) (jetstream.KeyValue, error) {
	replicas, err := b.Replicas(ctx)
	if err != nil {
		return nil, err
	}
	switch name {
	case BucketConfigs:
		return b.makeBelow(ctx, name, configs(replicas))
	case BucketOutput:
		return b.makeBelow(ctx, name, output(replicas))
	case BucketLease:
		return b.makeBelow(ctx, name, leaseBelow(replicas))
	}
	return b.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: name, Storage: jetstream.MemoryStorage, History: 1, LimitMarkerTTL: markerAge, Replicas: replicas, RePublish: live(name),
	})
}

// makeBelow makes a bucket by the stream below it.
func (b *JetStream) makeBelow(ctx context.Context, name string, below jetstream.StreamConfig) (jetstream.KeyValue, error) {
	if _, err := b.js.CreateStream(ctx, below); err != nil {
		return nil, err
	}
	return b.js.KeyValue(ctx, name)
}

// Replicas returns how many servers keep the log: buckets are kept by as many. Without a log it returns 1. While the servers elect a
// leader it returns an error, because a bucket keeps its number of replicas for good.
func (b *JetStream) Replicas(ctx context.Context) (int, error) {
	handle, err := b.js.Stream(ctx, string(Log))
	switch err := translate(err); {
	case errors.Is(err, ErrNoStream):
		return 1, nil
	case err != nil:
		return 0, fmt.Errorf("look up the replicas of %s: %w", Log, err)
	}
	return handle.CachedInfo().Config.Replicas, nil
}

// Get implements Bucket.
func (k bucket) Get(ctx context.Context, key string) (Entry, error) {
	e, err := k.kv.Get(ctx, key)
	if err != nil {
		return Entry{}, fmt.Errorf("get %s of %s: %w", key, k.kv.Bucket(), k.bus.heard(err))
	}
	return entry(e), nil
}

func entry(e jetstream.KeyValueEntry) Entry {
	return Entry{Key: e.Key(), Value: e.Value(), Revision: e.Revision(), Stored: e.Created()}
}

// Put implements Bucket.
func (k bucket) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	var next uint64
	var err error
	if revision == 0 {
		next, err = k.kv.Create(ctx, key, value)
	} else {
		next, err = k.kv.Update(ctx, key, value, revision)
	}
	if err != nil {
		return 0, fmt.Errorf("put %s into %s: %w", key, k.kv.Bucket(), translate(err))
	}
	return next, nil
}

// Set implements Bucket.
func (k bucket) Set(ctx context.Context, key string, value []byte) error {
	if _, err := k.kv.Put(ctx, key, value); err != nil {
		return fmt.Errorf("set %s of %s: %w", key, k.kv.Bucket(), translate(err))
	}
	return nil
}

// Delete implements Bucket.
func (k bucket) Delete(ctx context.Context, key string, revision uint64) error {
	if revision == 0 {
		return k.missing(ctx, key)
	}
	if err := k.kv.Delete(ctx, key, jetstream.LastRevision(revision)); err != nil {
		return fmt.Errorf("delete %s of %s: %w", key, k.kv.Bucket(), translate(err))
	}
	return nil
}

// missing returns nil where there is no such key, else ErrPosition. JetStream itself takes revision 0 for any.
func (k bucket) missing(ctx context.Context, key string) error {
	_, err := k.Get(ctx, key)
	switch {
	case err == nil:
		return fmt.Errorf("delete %s of %s: %w", key, k.kv.Bucket(), ErrPosition)
	case errors.Is(err, ErrNoKey):
		return nil
	}
	return err
}

// All implements Bucket.
func (k bucket) All(ctx context.Context) ([]Entry, error) {
	watcher, err := k.kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", k.kv.Bucket(), translate(err))
	}
	var all []Entry
	quiet := time.NewTimer(CallTimeout)
	defer quiet.Stop()
	for {
		select {
		case e := <-watcher.Updates():
			if e == nil {
				return all, watcher.Stop()
			}
			all = append(all, entry(e))
			quiet.Reset(CallTimeout)
		case <-quiet.C:
			return nil, errors.Join(fmt.Errorf("list %s: %w: nothing came for %s", k.kv.Bucket(), ErrUnknown, CallTimeout), watcher.Stop())
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("list %s: %w", k.kv.Bucket(), ctx.Err()), watcher.Stop())
		}
	}
}

// Last implements Bucket, with the last sequence of the stream below the bucket.
func (k bucket) Last(ctx context.Context) (uint64, error) {
	status, err := k.kv.Status(ctx)
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", k.kv.Bucket(), translate(err))
	}
	below, ok := status.(*jetstream.KeyValueBucketStatus)
	if !ok {
		return 0, fmt.Errorf("look at %s: no stream is below it", k.kv.Bucket())
	}
	return below.StreamInfo().State.LastSeq, nil
}
