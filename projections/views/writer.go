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

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

const (
	putTimeout = 5 * time.Second
	// loadTimeout bounds the reading of a bucket: hundreds of thousands of values take seconds. The bus ends it sooner where none come.
	loadTimeout = time.Minute
	// lookEvery is how often the writer checks its buckets.
	lookEvery = 5 * time.Second
)

// Writer writes views in a goroutine of its own, so that no decision of the leader waits for them. Of several values for one key it
// writes only the last.
type Writer struct {
	bus     bus.Bus
	log     *slog.Logger
	buckets []string

	mu      sync.Mutex
	pending Changes
	whole   bool // pending holds every value that the buckets must have
	// shown counts the calls that handed over changes. taken is how many of them the writer has taken up, and done how many it has tried
	// to write. behind is the error of the last try. tried is closed with the next try.
	shown, taken, done uint64
	behind             error
	tried              chan struct{}

	wake  chan struct{}
	ended chan struct{}

	// desired holds every value that the buckets must have. written holds the values that they have, with their revisions.
	desired map[Key][]byte
	written map[Key]bus.Entry
	open    map[string]bus.Bucket
	// latest is the last log sequence of the changes that this writer was given.
	latest uint64
	// slots is how many slots of each service may have a value, from ordinal 0 on. ports are the ports that have one.
	slots map[events.ServiceID]int
	ports map[events.ServiceID][]string
	// last is the revision of the last change of each bucket, as far as this writer knows.
	last map[string]uint64
}

// Start starts a writer of some buckets with every value that they must have. It ends when ctx does; Wait returns then.
func Start(ctx context.Context, b bus.Bus, log *slog.Logger, buckets []string, all Changes) *Writer {
	w := &Writer{
		bus: b, log: log, buckets: buckets, pending: all.in(buckets), whole: true, shown: 1, tried: make(chan struct{}),
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
		desired: map[Key][]byte{}, written: map[Key]bus.Entry{}, open: map[string]bus.Bucket{}, last: map[string]uint64{},
		slots: map[events.ServiceID]int{}, ports: map[events.ServiceID][]string{},
	}
	w.wake <- struct{}{}
	go w.run(ctx)
	return w
}

// Show hands over what changed and returns at once.
func (w *Writer) Show(changes Changes) {
	w.mu.Lock()
	w.pending.Merge(changes.in(w.buckets))
	w.pending.Sequence = changes.Sequence
	w.shown++
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Written waits until the writer has tried to write all changes so far, and returns the error of that try. It does not wait until the
// writer has caught up after an error.
func (w *Writer) Written(ctx context.Context) error {
	w.mu.Lock()
	want := w.shown
	w.mu.Unlock()
	for {
		w.mu.Lock()
		done, behind, tried := w.done >= want, w.behind, w.tried
		w.mu.Unlock()
		if done {
			return behind
		}
		select {
		case <-tried:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// note tells the callers of Written the result of the try.
func (w *Writer) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done, w.behind = w.taken, err
	close(w.tried)
	w.tried = make(chan struct{})
}

// Wait returns when the writer has ended.
func (w *Writer) Wait() { <-w.ended }

func (w *Writer) run(ctx context.Context) {
	defer close(w.ended)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for ctx.Err() == nil {
		select {
		case <-w.wake: // before a check that is due as well
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

// heed makes the writer write everything again after an error.
func (w *Writer) heed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		w.log.Warn("cannot write views, trying again", "error", err)
		w.again()
	}
}

// again makes the next check read the buckets and write everything.
func (w *Writer) again() {
	clear(w.open)
	clear(w.written)
}

// look checks the buckets, and writes them again if they are gone or another client has changed them.
func (w *Writer) look(ctx context.Context) error {
	same, err := w.unchanged(ctx)
	if err != nil || same {
		return err
	}
	err = w.rewrite(ctx)
	w.note(err)
	return err
}

// unchanged reports whether this writer made the last change of every bucket.
func (w *Writer) unchanged(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	if len(w.open) < len(w.buckets) {
		return false, nil
	}
	for _, name := range w.buckets {
		last, err := w.open[name].Last(ctx)
		if err != nil || last != w.last[name] {
			return false, err
		}
	}
	return true, nil
}

// rewrite reads the buckets, writes the desired values that differ, and deletes all other keys.
func (w *Writer) rewrite(ctx context.Context) error {
	if err := w.load(ctx); err != nil {
		return err
	}
	if err := w.overtaken(ctx); err != nil {
		return err
	}
	wanted := maps.Clone(w.desired)
	for key := range w.written {
		wanted[key] = nil
	}
	return w.settle(ctx, wanted)
}

// errOvertaken occurs if the buckets have values from a later log sequence than this writer was given. Another coordinator is the leader
// then, and this writer must not bring back what that leader has removed.
var errOvertaken = errors.New("another leader writes the views by now")

// overtaken returns errOvertaken if another leader has written. A value with a sequence beyond the end of the log belongs to a log that
// was lost, and the writer overwrites it.
func (w *Writer) overtaken(ctx context.Context) error {
	newest := uint64(0)
	for _, e := range w.written {
		newest = max(newest, sequenceOf(e.Value))
	}
	if newest <= w.latest {
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

func (w *Writer) take() (Changes, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	changes, whole := w.pending, w.whole
	w.pending, w.whole, w.taken = newChanges(), false, w.shown
	return changes, whole
}

func (w *Writer) flush(ctx context.Context) error {
	changes, whole := w.take()
	err := w.write(ctx, changes, whole)
	w.note(err)
	return err
}

func (w *Writer) write(ctx context.Context, changes Changes, whole bool) error {
	w.latest = max(w.latest, changes.Sequence)
	w.trim(changes)
	w.trimPorts(changes)
	for key, value := range changes.Values {
		if value == nil {
			delete(w.desired, key)
			continue
		}
		w.desired[key] = value
	}
	if whole || len(w.open) < len(w.buckets) {
		return w.rewrite(ctx)
	}
	if err := w.settle(ctx, changes.Values); err != nil {
		w.log.Info("writing all views again", "reason", err)
		return w.rewrite(ctx)
	}
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

// load opens the buckets and reads their values.
func (w *Writer) load(ctx context.Context) error {
	clear(w.open)
	clear(w.written)
	for _, name := range w.buckets {
		b, last, err := w.openBucket(ctx, name)
		if err != nil {
			return err
		}
		all, err := readAll(ctx, b)
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

// settle writes the desired value of each wanted key, or deletes the key if it has none.
func (w *Writer) settle(ctx context.Context, wanted map[Key][]byte) error {
	for _, key := range slices.SortedFunc(maps.Keys(wanted), compare) {
		value, desired := w.desired[key]
		before, written := w.written[key]
		var err error
		switch {
		case desired && !same(key, before.Value, value):
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

// same reports whether a value need not be written again. For endpoints it ignores the log sequence: clients watch them, and must not wake
// up for an update without another address.
func same(key Key, before, after []byte) bool {
	if key.Bucket == bus.BucketEndpoints {
		before, after = untimed(before), untimed(after)
	}
	return bytes.Equal(before, after)
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
	if revision == w.last[key.Bucket]+1 { // else another client has written in between: the next check reads the bucket
		w.last[key.Bucket] = revision
	}
	return nil
}

func (w *Writer) delete(ctx context.Context, key Key) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	err := w.open[key.Bucket].Delete(ctx, key.Key, w.written[key].Revision)
	switch {
	case errors.Is(err, bus.ErrNoKey): // another client has deleted it: the next check reads the bucket
		w.last[key.Bucket] = 0
	case err != nil:
		return fmt.Errorf("delete view: %w", err)
	default:
		w.last[key.Bucket]++ // a deletion is a revision too, although the bus does not return it
	}
	delete(w.written, key)
	return nil
}
