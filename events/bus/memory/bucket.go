package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

type bucket struct {
	now  func() time.Time
	name string
	age  time.Duration // 0: entries stay
	// most is the greatest size of a value in bytes; 0 for any.
	most int

	mu       sync.Mutex
	revision uint64
	entries  map[string]bus.Entry
}

// Bucket implements bus.Bus.
func (b *Bus) Bucket(_ context.Context, name string) (bus.Bucket, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.buckets[name]
	if k == nil {
		k = &bucket{now: b.now, name: name, entries: map[string]bus.Entry{}}
		switch name {
		case bus.BucketLease:
			k.age = bus.LeaseAge
		case bus.BucketConfigs:
			k.most = bus.MaxConfig
		case bus.BucketOutput:
			k.age, k.most = bus.OutputAge, events.MaxOutput
		}
		b.buckets[name] = k
	}
	return k, nil
}

// empty removes every entry, and counts revisions from the beginning.
func (k *bucket) empty() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.entries)
	k.revision = 0
}

// live returns the entry unless it has outlived the bucket's age.
func (k *bucket) live(key string) (bus.Entry, bool) {
	e, ok := k.entries[key]
	if ok && k.age > 0 && k.now().Sub(e.Stored) >= k.age {
		delete(k.entries, key)
		return bus.Entry{}, false
	}
	return e, ok
}

// Get implements bus.Bucket.
func (k *bucket) Get(_ context.Context, key string) (bus.Entry, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.live(key)
	if !ok {
		return e, fmt.Errorf("get %s of %s: %w", key, k.name, bus.ErrNoKey)
	}
	return e, nil
}

// Put implements bus.Bucket.
func (k *bucket) Put(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, _ := k.live(key); e.Revision != revision {
		return 0, fmt.Errorf("put %s into %s: %w", key, k.name, bus.ErrPosition)
	}
	return k.store(key, value)
}

// Set implements bus.Bucket.
func (k *bucket) Set(_ context.Context, key string, value []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, err := k.store(key, value)
	return err
}

func (k *bucket) store(key string, value []byte) (uint64, error) {
	if k.most > 0 && len(value) > k.most {
		return 0, fmt.Errorf("put %s into %s: %w: %d bytes", key, k.name, bus.ErrTooLarge, len(value))
	}
	k.revision++
	k.entries[key] = bus.Entry{Key: key, Value: value, Revision: k.revision, Stored: k.now()}
	return k.revision, nil
}

// Delete implements bus.Bucket.
func (k *bucket) Delete(_ context.Context, key string, revision uint64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, _ := k.live(key); e.Revision != revision {
		return fmt.Errorf("delete %s of %s: %w", key, k.name, bus.ErrPosition)
	}
	if revision > 0 {
		k.revision++
	}
	delete(k.entries, key)
	return nil
}

// clear loses every entry. Revisions keep counting, so that a reader never takes an old entry for a new one.
func (k *bucket) clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.entries)
	k.revision++
}

// Last implements bus.Bucket.
func (k *bucket) Last(context.Context) (uint64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.revision, nil
}

// All implements bus.Bucket.
func (k *bucket) All(context.Context) ([]bus.Entry, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]bus.Entry, 0, len(k.entries))
	for key := range k.entries {
		if e, ok := k.live(key); ok {
			all = append(all, e)
		}
	}
	return all, nil
}
