package views

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events/bus"
)

const (
	putTimeout = 5 * time.Second
	// lookEvery is how often the writer looks whether its buckets are still there.
	lookEvery = 5 * time.Second
)

// Writer writes views behind the leader's back, so that no decision waits for them. Of several values for one key only
// the last is written.
type Writer struct {
	bus bus.Bus
	log *slog.Logger

	mu      sync.Mutex
	pending Changes
	whole   bool // pending holds every value there shall be

	wake  chan struct{}
	ended chan struct{}

	// desired is every value there shall be; written holds those that a bucket has, with their revisions.
	desired map[Key][]byte
	written map[Key]bus.Entry
	open    map[string]bus.Bucket
	// last is the revision of the last change of each bucket, as far as this writer knows.
	last map[string]uint64
}

// Start begins a writer with every value that there shall be. It ends when ctx does; Wait returns then.
func Start(ctx context.Context, b bus.Bus, log *slog.Logger, all Changes) *Writer {
	w := &Writer{
		bus: b, log: log, pending: all, whole: true,
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
		desired: map[Key][]byte{}, written: map[Key]bus.Entry{}, open: map[string]bus.Bucket{}, last: map[string]uint64{},
	}
	w.wake <- struct{}{}
	go w.run(ctx)
	return w
}

// Show hands over what changed and returns at once.
func (w *Writer) Show(changes Changes) {
	w.mu.Lock()
	w.pending.merge(changes)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Wait returns when the writer has ended.
func (w *Writer) Wait() { <-w.ended }

func (w *Writer) run(ctx context.Context) {
	defer close(w.ended)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for ctx.Err() == nil {
		select {
		case <-w.wake: // before a look that is due as well
			w.heed(ctx, w.flush(ctx))
			continue
		default:
		}
		select {
		case <-ctx.Done():
		case <-w.wake:
			w.heed(ctx, w.flush(ctx))
		case <-look.C:
			w.heed(ctx, w.look(ctx))
		}
	}
}

// heed follows an error with writing everything again.
func (w *Writer) heed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		w.log.Warn("views are behind", "error", err)
		w.again()
	}
}

// again has the next look write everything.
func (w *Writer) again() {
	clear(w.open)
	clear(w.written)
}

// look notices buckets that are gone or were changed by others, and writes them again.
func (w *Writer) look(ctx context.Context) error {
	same, err := w.unchanged(ctx)
	if err != nil || same {
		return err
	}
	return w.rewrite(ctx)
}

// unchanged reports whether the last change of every bucket is this writer's own.
func (w *Writer) unchanged(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	if len(w.open) < len(bus.Views) {
		return false, nil
	}
	for _, name := range bus.Views {
		last, err := w.open[name].Last(ctx)
		if err != nil || last != w.last[name] {
			return false, err
		}
	}
	return true, nil
}

// rewrite reads what the buckets have, and makes them have what is desired and nothing else.
func (w *Writer) rewrite(ctx context.Context) error {
	if err := w.load(ctx); err != nil {
		return err
	}
	wanted := maps.Clone(w.desired)
	for key := range w.written {
		wanted[key] = nil
	}
	return w.settle(ctx, wanted)
}

func (w *Writer) take() (Changes, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	changes, whole := w.pending, w.whole
	w.pending, w.whole = newChanges(), false
	return changes, whole
}

func (w *Writer) flush(ctx context.Context) error {
	changes, whole := w.take()
	w.trim(changes)
	for key, value := range changes.Values {
		if value == nil {
			delete(w.desired, key)
			continue
		}
		w.desired[key] = value
	}
	if whole || len(w.open) < len(bus.Views) {
		return w.rewrite(ctx)
	}
	return w.settle(ctx, changes.Values)
}

// trim has what a service showed beyond its slots be shown no more. Slots are numbered without gaps.
func (w *Writer) trim(changes Changes) {
	for id, slots := range changes.Slots {
		for ordinal := slots; ; ordinal++ {
			key := Key{bus.BucketInstances, slotKey(id, ordinal)}
			if _, shown := w.desired[key]; !shown && changes.Values[key] == nil {
				break
			}
			changes.Values[key] = nil
		}
	}
}

// load opens the buckets and reads what they have.
func (w *Writer) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	clear(w.open)
	clear(w.written)
	for _, name := range bus.Views {
		b, err := w.bus.Bucket(ctx, name)
		if err != nil {
			return err
		}
		last, err := b.Last(ctx)
		if err != nil {
			return err
		}
		all, err := b.All(ctx)
		if err != nil {
			return err
		}
		w.open[name], w.last[name] = b, last
		for _, e := range all {
			key := Key{name, e.Key}
			w.written[key] = e
		}
	}
	return nil
}

// settle makes the buckets have, for each wanted key, the value that is desired, or none.
func (w *Writer) settle(ctx context.Context, wanted map[Key][]byte) error {
	for _, key := range slices.SortedFunc(maps.Keys(wanted), compare) {
		value, desired := w.desired[key]
		before, written := w.written[key]
		var err error
		switch {
		case desired && !bytes.Equal(before.Value, value):
			err = w.put(ctx, key, value)
		case !desired && written:
			err = w.delete(ctx, key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func compare(a, b Key) int {
	return strings.Compare(a.Bucket+"/"+a.Key, b.Bucket+"/"+b.Key)
}

func (w *Writer) put(ctx context.Context, key Key, value []byte) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	revision, err := w.open[key.Bucket].Put(ctx, key.Key, value, w.written[key].Revision)
	if err != nil {
		return fmt.Errorf("write view: %w", err)
	}
	w.written[key] = bus.Entry{Key: key.Key, Value: value, Revision: revision}
	w.last[key.Bucket] = revision
	return nil
}

func (w *Writer) delete(ctx context.Context, key Key) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	err := w.open[key.Bucket].Delete(ctx, key.Key, w.written[key].Revision)
	if err != nil && !errors.Is(err, bus.ErrNoKey) {
		return fmt.Errorf("delete view: %w", err)
	}
	delete(w.written, key)
	w.last[key.Bucket] = 0 // a deletion tells no revision: the next look reads the bucket
	return nil
}
