package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Change is the new value of a key in a bucket; Value is nil where the key is gone.
type Change struct {
	Bucket, Key string
	Value       []byte
}

// Sight is what a watch has to tell.
type Sight struct {
	Changes []Change
	// Whole says that the changes are every key that there is: what is known of others is not so any more.
	Whole bool
	// Lost says why nothing is seen any more, until the next sight; nil where all is seen.
	Lost error
}

const (
	// watchTimeout bounds how long a watch waits for all that buckets have, and watchLook is how often it looks whether they
	// are the same ones still.
	watchTimeout = 5 * time.Second
	watchLook    = 2 * time.Second
	// watchAgain is how long a watch waits before it starts over.
	watchAgain = 250 * time.Millisecond
)

var errBucketAnew = errors.New("the bucket was deleted and made again")

// Watch tells what the buckets have, and each change from then on, until the context ends. Where it loses the bus, it says so and starts
// over once the bus is back. It makes missing buckets.
func (b *JetStream) Watch(ctx context.Context, buckets []string, tell func(Sight)) {
	for ctx.Err() == nil {
		err := b.watchOnce(ctx, buckets, tell)
		if ctx.Err() != nil {
			return
		}
		tell(Sight{Lost: err})
		b.awaitConnection(ctx)
	}
}

// awaitConnection waits a little, and then until the connection stands.
func (b *JetStream) awaitConnection(ctx context.Context) {
	again := time.NewTicker(watchAgain)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			if b.conn.IsConnected() {
				return
			}
		}
	}
}

// watched is a bucket that is watched.
type watched struct {
	kv      jetstream.KeyValue
	watcher jetstream.KeyWatcher
	made    time.Time
}

// watchOnce watches until something is wrong, and returns what.
func (b *JetStream) watchOnce(ctx context.Context, buckets []string, tell func(Sight)) error {
	ctx, cancel := context.WithCancel(ctx)
	lost := b.conn.StatusChanged(nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	defer b.conn.RemoveStatusListener(lost)
	changes, failed := make(chan *Change, 256), make(chan error, len(buckets))
	all := make([]watched, 0, len(buckets))
	ended := make(chan struct{}, len(buckets))
	defer func() {
		cancel()
		for range all {
			<-ended
		}
	}()
	for _, name := range buckets {
		w, err := b.openWatch(ctx, name)
		if err != nil {
			return err
		}
		all = append(all, w)
		go func() {
			defer func() { ended <- struct{}{} }()
			failed <- w.forward(ctx, name, changes)
		}()
	}
	s := &sighting{tell: tell, begins: len(buckets)}
	look, late := time.NewTicker(watchLook), time.NewTimer(watchTimeout)
	defer look.Stop()
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-lost:
			return fmt.Errorf("watch: %w", nats.ErrDisconnected)
		case err := <-failed:
			return err
		case c := <-changes:
			s.take(c, changes)
		case <-late.C:
			if s.begins > 0 {
				return fmt.Errorf("watch: the buckets did not deliver their keys within %s", watchTimeout)
			}
		case <-look.C:
			for _, w := range all {
				if err := w.same(ctx); err != nil {
					return err
				}
			}
		}
	}
}

func (b *JetStream) openWatch(ctx context.Context, name string) (watched, error) {
	call, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	opened, err := b.Bucket(call, name)
	if err != nil {
		return watched{}, err
	}
	k, ok := opened.(bucket)
	if !ok {
		return watched{}, fmt.Errorf("watch %s: it is not a bucket of JetStream", name)
	}
	w := watched{kv: k.kv}
	if w.made, err = w.created(call); err != nil {
		return w, err
	}
	if w.watcher, err = k.kv.WatchAll(ctx); err != nil {
		return w, fmt.Errorf("watch %s: %w", name, translate(err))
	}
	return w, nil
}

// created returns when the stream below the bucket was made: another time is another bucket.
func (w watched) created(ctx context.Context) (time.Time, error) {
	status, err := w.kv.Status(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("look at %s: %w", w.kv.Bucket(), translate(err))
	}
	below, ok := status.(*jetstream.KeyValueBucketStatus)
	if !ok {
		return time.Time{}, fmt.Errorf("look at %s: no stream is below it", w.kv.Bucket())
	}
	return below.StreamInfo().Created, nil
}

func (w watched) same(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	made, err := w.created(call)
	if err == nil && !made.Equal(w.made) {
		err = fmt.Errorf("watch %s: %w", w.kv.Bucket(), errBucketAnew)
	}
	return err
}

// forward hands on what the watcher tells; nil for the end of what the bucket had in the beginning.
func (w watched) forward(ctx context.Context, name string, changes chan<- *Change) error {
	defer w.watcher.Stop() //nolint:errcheck // the connection is gone, and the watcher with it
	for {
		var c *Change
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-w.watcher.Updates():
			if !ok {
				return fmt.Errorf("watch %s: the watch has ended", name)
			}
			if e != nil {
				c = &Change{Bucket: name, Key: e.Key()}
				if e.Operation() == jetstream.KeyValuePut {
					c.Value = e.Value()
				}
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case changes <- c:
		}
	}
}

// sighting gathers changes and tells of them.
type sighting struct {
	tell func(Sight)
	// begins counts the buckets that have not told all that they had in the beginning.
	begins  int
	pending []Change
}

// take takes a change and those that wait behind it.
func (s *sighting) take(c *Change, more <-chan *Change) {
	const most = 10_000 // of what is told at once
	began := s.begins
	s.add(c)
	for waits := true; waits && (s.begins > 0 || len(s.pending) < most); {
		select {
		case c := <-more:
			s.add(c)
		default:
			waits = false
		}
	}
	if s.begins == 0 {
		if began > 0 {
			s.pending = standing(s.pending)
		}
		s.tell(Sight{Changes: s.pending, Whole: began > 0})
		s.pending = nil
	}
}

// standing returns the last change of each key, without those that are gone: a bucket may change while another is still read.
func standing(changes []Change) []Change {
	last := map[[2]string]int{}
	for i, c := range changes {
		last[[2]string{c.Bucket, c.Key}] = i
	}
	var kept []Change
	for i, c := range changes {
		if c.Value != nil && last[[2]string{c.Bucket, c.Key}] == i {
			kept = append(kept, c)
		}
	}
	return kept
}

func (s *sighting) add(c *Change) {
	if c == nil {
		s.begins--
		return
	}
	s.pending = append(s.pending, *c)
}
