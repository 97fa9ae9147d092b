package views

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

const (
	putTimeout = 5 * time.Second
	// loadTimeout bounds the reading of a bucket: hundreds of thousands of values take seconds. The bus ends it sooner where none come.
	loadTimeout = time.Minute
)

// Writer writes views in a goroutine of its own, so that no decision of the leader waits for them. Of several values for one key it
// writes only the last. It keeps no value that it has written: once it cannot tell what its buckets have, it ends, and its owner starts
// another writer with every value.
type Writer struct {
	bus     bus.Bus
	log     *slog.Logger
	buckets []string

	mu      sync.Mutex
	pending Changes
	// shown counts the calls that handed over changes, and done how many of them were written. err is why the writer has ended.
	// tried is closed when done or err changes.
	shown, done uint64
	err         error
	tried       chan struct{}

	wake, asked, ended chan struct{}

	// written has what each key of the buckets has.
	written map[Key]mark
	seed    maphash.Seed
	open    map[string]bus.Bucket
	// slots is how many slots of each service may have a value, from ordinal 0 on. ports are the ports that have one.
	slots map[events.ServiceID]int
	ports map[events.ServiceID][]string
	// last is the revision of the last change of each bucket, as far as this writer knows.
	last map[string]uint64
}

// mark stands for a value that a bucket has.
type mark struct{ digest, revision uint64 }

// errChanged occurs if another client has changed a bucket.
var errChanged = errors.New("another client has changed the bucket")

// Start starts a writer of some buckets with every value that they must have. It ends when ctx does, or with an error; Wait returns then.
func Start(ctx context.Context, b bus.Bus, log *slog.Logger, buckets []string, all Changes) *Writer {
	w := &Writer{
		bus: b, log: log, buckets: buckets, pending: all.in(buckets), shown: 1, tried: make(chan struct{}),
		wake: make(chan struct{}, 1), asked: make(chan struct{}, 1), ended: make(chan struct{}),
		written: map[Key]mark{}, seed: maphash.MakeSeed(), open: map[string]bus.Bucket{}, last: map[string]uint64{},
		slots: map[events.ServiceID]int{}, ports: map[events.ServiceID][]string{},
	}
	w.wake <- struct{}{}
	go w.run(ctx)
	return w
}

// Show hands over what changed and returns at once. A writer that has ended drops it.
func (w *Writer) Show(changes Changes) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	w.pending.Merge(changes.in(w.buckets))
	w.pending.Sequence = changes.Sequence
	w.shown++
	signal(w.wake)
}

// Check asks the writer to check whether another client has changed its buckets, and returns at once. The writer ends if one has.
func (w *Writer) Check() { signal(w.asked) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Written waits until the writer has written all changes so far, or returns the error with which it has ended.
func (w *Writer) Written(ctx context.Context) error {
	w.mu.Lock()
	want := w.shown
	w.mu.Unlock()
	for {
		w.mu.Lock()
		done, err, tried := w.done >= want, w.err, w.tried
		w.mu.Unlock()
		if done || err != nil {
			return err
		}
		select {
		case <-tried:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// note tells the callers of Written how many changes are written, or why the writer ends.
func (w *Writer) note(done uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done, w.err = done, err; err != nil {
		w.pending, w.written = Changes{}, nil
	}
	close(w.tried)
	w.tried = make(chan struct{})
}

// Err returns the error with which the writer has ended; nil while it writes.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Wait returns when the writer has ended.
func (w *Writer) Wait() { <-w.ended }

func (w *Writer) run(ctx context.Context) {
	defer close(w.ended)
	err := w.begin(ctx)
	for err == nil {
		select {
		case <-w.wake: // before a check that was asked for as well
			err = w.flush(ctx)
			continue
		default:
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-w.wake:
			err = w.flush(ctx)
		case <-w.asked:
			err = w.check(ctx)
		}
	}
	if ctx.Err() == nil {
		w.log.Warn("cannot update views, writing all of them again", "error", err)
	}
	w.note(0, err)
}

// check returns errChanged unless this writer made the last change of every bucket.
func (w *Writer) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	for _, name := range w.buckets {
		last, err := w.open[name].Last(ctx)
		if err != nil {
			return err
		}
		if last != w.last[name] {
			return fmt.Errorf("%s: %w", name, errChanged)
		}
	}
	return nil
}

// begin reads the buckets, and marks every key for deletion that must have no value.
func (w *Writer) begin(ctx context.Context) error {
	newest, err := w.load(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	for key := range w.written {
		if w.pending.Values[key] == nil {
			w.pending.Values[key] = nil
		}
	}
	latest := w.pending.Sequence
	w.mu.Unlock()
	return w.overtaken(ctx, newest, latest)
}

// errOvertaken occurs if the buckets have values from a later log sequence than this writer was given. Another coordinator is the leader
// then, and this writer must not bring back what that leader has removed.
var errOvertaken = errors.New("another leader writes the views by now")

// overtaken returns errOvertaken if another leader has written, by the newest sequence of what the buckets have and the latest that the
// writer was given. A value with a sequence beyond the end of the log belongs to a log that was lost, and the writer overwrites it.
func (w *Writer) overtaken(ctx context.Context, newest, latest uint64) error {
	if newest <= latest {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	log, err := w.bus.State(ctx, bus.Log)
	if err == nil && newest <= log.Last {
		return errOvertaken
	}
	return err
}

func (w *Writer) take() (changes Changes, shown uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	changes, w.pending = w.pending, newChanges()
	return changes, w.shown
}

func (w *Writer) flush(ctx context.Context) error {
	changes, shown := w.take()
	w.trim(changes)
	w.trimPorts(changes)
	if err := w.settle(ctx, changes.Values); err != nil {
		return err
	}
	w.note(shown, nil)
	return nil
}

// trim deletes the values of slots that a service no longer has.
func (w *Writer) trim(changes Changes) {
	for id, slots := range changes.Slots {
		for ordinal := slots; ordinal < w.slots[id]; ordinal++ {
			changes.Values[Key{bus.BucketInstances, slotKey(id, ordinal)}] = nil
		}
		if w.slots[id] = slots; slots == 0 {
			delete(w.slots, id)
		}
	}
}

// trimPorts deletes the values of ports that a service no longer has.
func (w *Writer) trimPorts(changes Changes) {
	for id, ports := range changes.Ports {
		for _, gone := range w.ports[id] {
			if !slices.Contains(ports, gone) {
				changes.Values[Key{bus.BucketEndpoints, endpointsKey(id, gone)}] = nil
			}
		}
		if w.ports[id] = ports; len(ports) == 0 {
			delete(w.ports, id)
		}
	}
}

// load opens the buckets and reads what they have. It returns the newest log sequence of their values.
func (w *Writer) load(ctx context.Context) (newest uint64, err error) {
	for _, name := range w.buckets {
		b, last, err := w.openBucket(ctx, name)
		if err != nil {
			return 0, err
		}
		all, err := readAll(ctx, b)
		if err != nil {
			return 0, err
		}
		w.open[name], w.last[name] = b, last
		for _, e := range all {
			key := Key{name, e.Key}
			w.written[key] = mark{w.digest(key, e.Value), e.Revision}
			newest = max(newest, sequenceOf(e.Value))
		}
	}
	return newest, nil
}

// openBucket opens a bucket, and returns the revision of its last change.
func (w *Writer) openBucket(ctx context.Context, name string) (bus.Bucket, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	b, err := w.bus.Bucket(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	last, err := b.Last(ctx)
	return b, last, err
}

func readAll(ctx context.Context, b bus.Bucket) ([]bus.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	return b.All(ctx)
}

// settle writes the value of each key, or deletes the key if it has none. It lets go of each value at once.
func (w *Writer) settle(ctx context.Context, values map[Key][]byte) error {
	for _, key := range slices.SortedFunc(maps.Keys(values), compare) {
		value := values[key]
		delete(values, key)
		before, written := w.written[key]
		var err error
		switch {
		case value == nil && written:
			err = w.delete(ctx, key)
		case value != nil && (!written || before.digest != w.digest(key, value)):
			err = w.put(ctx, key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// digest returns the same number for values of which one need not be written over the other. For endpoints and instances it ignores the log
// sequence: clients watch endpoints, and must not wake up for an update without another address. And there may be hundreds of thousands of
// instances, of which a writer that starts must write only those that have changed.
func (w *Writer) digest(key Key, value []byte) uint64 {
	if key.Bucket == bus.BucketEndpoints || key.Bucket == bus.BucketInstances {
		value = untimed(value)
	}
	return maphash.Bytes(w.seed, value)
}

func compare(a, b Key) int {
	return cmp.Or(strings.Compare(a.Bucket, b.Bucket), strings.Compare(a.Key, b.Key))
}

func (w *Writer) put(ctx context.Context, key Key, value []byte) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	revision, err := w.open[key.Bucket].Put(ctx, key.Key, value, w.written[key].revision)
	if err != nil {
		return fmt.Errorf("write view: %w", err)
	}
	w.written[key] = mark{w.digest(key, value), revision}
	w.last[key.Bucket]++ // if another client has written in between, the next check finds a later revision
	return nil
}

func (w *Writer) delete(ctx context.Context, key Key) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	if err := w.open[key.Bucket].Delete(ctx, key.Key, w.written[key].revision); err != nil {
		return fmt.Errorf("delete view: %w", err)
	}
	delete(w.written, key)
	w.last[key.Bucket]++
	return nil
}
