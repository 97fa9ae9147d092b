package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events"
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
	// listAgain is how often a watch lists what there is at most: what it hears is stored nowhere, so it may miss a change. listShare bounds the
	// share of its time for which it lists long views.
	listAgain = 10 * time.Second
	listShare = 50
	// heardAtOnce is how many changes wait for a watch, which hears nothing while it lists.
	heardAtOnce = 16_384
	// watchAgain is how long a watch waits before it starts over.
	watchAgain = 250 * time.Millisecond
)

// Watch tells what the views in these buckets have, by list, and each change from then on, until the context ends. Where it loses the bus, or
// cannot list, it says so and starts over. It needs no right to JetStream.
func (b *JetStream) Watch(ctx context.Context, buckets []string, list func(ctx context.Context, bucket string) ([]Change, error), tell func(Sight)) {
	all := func(ctx context.Context) (all []Change, err error) {
		for _, name := range buckets {
			some, err := list(ctx, name)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	}
	for ctx.Err() == nil {
		err := b.watchOnce(ctx, buckets, all, tell)
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

// watchOnce watches until something is wrong, and returns what. A change that it hears while it lists is told after the list, which may be older.
func (b *JetStream) watchOnce(ctx context.Context, buckets []string, list func(context.Context) ([]Change, error), tell func(Sight)) error {
	ctx, cancel := context.WithCancel(ctx)
	lost := b.conn.StatusChanged(nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	defer b.conn.RemoveStatusListener(lost)
	heard, unhear, err := b.hearViews(ctx, buckets)
	defer unhear()
	if err != nil {
		cancel()
		return err
	}
	type listing struct {
		all  []Change
		err  error
		took time.Duration
	}
	listed := make(chan listing, 1)
	lists := func() {
		began := time.Now()
		all, err := list(ctx)
		listed <- listing{all, err, time.Since(began)}
	}
	busy, hear := true, (<-chan *nats.Msg)(nil)
	go lists()
	defer func() {
		cancel()
		if busy {
			<-listed
		}
	}()
	again := time.NewTimer(0)
	defer again.Stop()
	<-again.C
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-lost:
			return fmt.Errorf("watch: %w", nats.ErrDisconnected)
		case now := <-listed:
			busy, hear = false, heard
			if now.err != nil {
				return now.err
			}
			tell(Sight{Changes: now.all, Whole: true})
			again.Reset(max(listAgain, listShare*now.took))
		case m := <-hear:
			tell(Sight{Changes: changesOf(m, heard)})
		case <-again.C:
			busy, hear = true, nil
			go lists()
		}
	}
}

// hearViews listens for changes of the views in the buckets.
func (b *JetStream) hearViews(ctx context.Context, buckets []string) (heard chan *nats.Msg, stop func(), err error) {
	heard = make(chan *nats.Msg, heardAtOnce)
	var all []*nats.Subscription
	stop = func() {
		for _, sub := range all {
			_ = sub.Unsubscribe() // fails only if the connection has ended
		}
	}
	for _, name := range buckets {
		for _, subject := range b.viewSubjects(name) {
			sub, err := b.conn.ChanSubscribe(subject, heard)
			if err != nil {
				return nil, stop, fmt.Errorf("watch %s: %w", name, translate(err))
			}
			all = append(all, sub)
		}
	}
	call, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	if err := b.conn.FlushWithContext(call); err != nil {
		return nil, stop, fmt.Errorf("watch: %w", errors.Join(ErrNoAnswer, err))
	}
	return heard, stop, nil
}

// viewSubjects are where the user hears changes of a view: of all that it may see. Nodes are in no namespace.
func (b *JetStream) viewSubjects(bucket string) []string {
	root := events.ViewRoot + "." + ViewOf(bucket) + "."
	if len(b.user.namespaces) == 0 || bucket == BucketNodes {
		return []string{root + ">"}
	}
	all := make([]string, len(b.user.namespaces))
	for i, ns := range b.user.namespaces {
		all[i] = root + ns + ".>"
	}
	return all
}

// changesOf returns what a message says, and those that wait behind it.
func changesOf(m *nats.Msg, more <-chan *nats.Msg) []Change {
	const most = 10_000 // of what is told at once
	all := []Change{changeOf(m)}
	for len(all) < most {
		select {
		case m := <-more:
			all = append(all, changeOf(m))
		default:
			return all
		}
	}
	return all
}

// changeOf reads a change that the server publishes.
func changeOf(m *nats.Msg) Change {
	view, key, _ := strings.Cut(strings.TrimPrefix(m.Subject, events.ViewRoot+"."), ".")
	c := Change{Bucket: viewBucket + view, Key: key}
	if m.Header.Get("KV-Operation") == "" {
		c.Value = m.Data
	}
	return c
}
