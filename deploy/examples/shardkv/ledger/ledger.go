// Package ledger is a client of shardkv that writes down every answer, and says from these alone whether the service has
// kept its promises: no acknowledged write lost, no key served by two slots.
//
// It owns its load and its book, and knows nothing of the service but its HTTP interface. Judge is pure: the same
// operations give the same report.
//
//	l := ledger.New(ledger.Config{Addresses: present, Keys: 64, Workers: 8, Seed: seed})
//	go func() { report, err := l.Run(ctx); … }() // until ctx ends
//	err := l.Await(t.Context(), 500, 0)          // 500 more answers
//	err = l.Await(t.Context(), 1, 5)             // one under config version 5 or a higher one
package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// ErrFull says that the book has no room for further operations.
var ErrFull = errors.New("the ledger is full")

// Config is what a ledger is made of. Fields that are zero have the value in parentheses.
type Config struct {
	// Addresses returns where instances are said to answer at this moment, as host:port. Each of them may be stale, and
	// none be there at all. It is called by all workers.
	Addresses func() []string
	// Prefix begins every key ("key-"). Only this ledger may write to these keys, also in the past.
	Prefix string
	// Keys is how many keys there are (64), and Workers how many clients ask at once (8).
	Keys, Workers int
	// Seed is what every choice comes from.
	Seed uint64
	// Call bounds one request (2s), Patience all that is tried for one operation until it is given up (15s).
	Call, Patience time.Duration
	// Pause is what a worker waits after an instance that could not help it (10ms). It does not wait as long as Retry-After
	// says: the ledger is there to see how long a key is away.
	Pause time.Duration
	// Limit is how many operations are written down at most (1,000,000).
	Limit int
}

// Ledger is the load, and the book of what was answered. Its methods may be called at once.
type Ledger struct {
	config Config
	client http.Client
	begun  time.Time

	mu      sync.Mutex
	book    []Operation
	waiters []*waiter
}

// waiter waits until so many answers have come under this config version or a higher one.
type waiter struct {
	missing int
	from    uint64
	reached chan struct{}
}

// told takes one more answer.
func (w *waiter) told(op Operation) {
	if w.missing == 0 || op.ConfigVersion < w.from {
		return
	}
	if w.missing--; w.missing == 0 {
		close(w.reached)
	}
}

// New returns a ledger with an empty book.
func New(config Config) *Ledger {
	config.Prefix = cmp.Or(config.Prefix, "key-")
	config.Keys = cmp.Or(config.Keys, 64)
	config.Workers = cmp.Or(config.Workers, 8)
	config.Call = cmp.Or(config.Call, 2*time.Second)
	config.Patience = cmp.Or(config.Patience, 15*time.Second)
	config.Pause = cmp.Or(config.Pause, 10*time.Millisecond)
	config.Limit = cmp.Or(config.Limit, 1_000_000)
	l := &Ledger{config: config, begun: time.Now()}
	l.client = http.Client{
		Timeout:   config.Call,
		Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: config.Call}).DialContext, MaxIdleConnsPerHost: config.Workers},
	}
	return l
}

// Run lets the workers send requests until the context ends, then reads every key once more, and reports. It is called once. When the
// context ends, each worker finishes the operation that it has begun, which takes at most Patience. Each last read of a key takes at most
// Patience as well. Its error is ErrFull; the report is valid nonetheless.
func (l *Ledger) Run(ctx context.Context) (Report, error) {
	defer l.client.CloseIdleConnections()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers sync.WaitGroup
	for n := range l.config.Workers {
		w := l.worker(n)
		workers.Go(func() {
			for ctx.Err() == nil {
				if !l.note(w.next(context.WithoutCancel(ctx))) {
					stop(ErrFull)
				}
			}
		})
	}
	workers.Wait()
	final := l.readBack(context.WithoutCancel(ctx))
	l.mu.Lock()
	defer l.mu.Unlock()
	report := Judge(l.book, final)
	if errors.Is(context.Cause(ctx), ErrFull) {
		return report, ErrFull
	}
	return report, nil
}

// Await waits for so many further answers, 1 or more, from instances that serve under this config version or a higher one.
// Its error is that of the context.
func (l *Ledger) Await(ctx context.Context, further int, from uint64) error {
	w := &waiter{missing: further, from: from, reached: make(chan struct{})}
	l.mu.Lock()
	l.waiters = append(l.waiters, w)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.waiters = slices.DeleteFunc(l.waiters, func(other *waiter) bool { return other == w })
	}()
	select {
	case <-w.reached:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for %d answers under config version %d: %w", further, from, ctx.Err())
	}
}

// note writes the operation down, and reports whether there is room for another.
func (l *Ledger) note(op Operation) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.book = append(l.book, op)
	if op.Answered {
		for _, w := range l.waiters {
			w.told(op)
		}
	}
	return len(l.book) < l.config.Limit
}

// readBack gets every key once more, all workers together.
func (l *Ledger) readBack(ctx context.Context) []Operation {
	final := make([]Operation, l.config.Keys)
	var workers sync.WaitGroup
	for n := range l.config.Workers {
		w := l.worker(l.config.Workers + n)
		workers.Go(func() {
			for key := n; key < l.config.Keys; key += l.config.Workers {
				final[key] = w.do(ctx, Operation{Key: l.key(key)})
			}
		})
	}
	workers.Wait()
	return final
}

func (l *Ledger) key(n int) string { return fmt.Sprintf("%s%04d", l.config.Prefix, n) }

// now is the time since the ledger began.
func (l *Ledger) now() time.Duration { return time.Since(l.begun) }
