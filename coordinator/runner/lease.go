package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events/bus"
)

const (
	leaseKey = "leader"
	// pulseEvery is how often the lease is renewed.
	pulseEvery = bus.LeaseAge / 4
	// hungAfter is how long the loop may show no sign of life before its lease is no longer renewed, so that another coordinator can lead.
	hungAfter = time.Minute
)

// holder is the value of the lease.
type holder struct {
	Leader string `json:"leader"`
	// Sequence is the end of the log as the leader has it: a standby that has this much has the present state.
	Sequence uint64 `json:"sequence"`
}

func (h holder) value() []byte {
	value, _ := json.Marshal(h) // plain fields encode
	return value
}

// Leader returns the name of the coordinator that leads; "" if none has led for as long as a lease lasts.
func Leader(ctx context.Context, b bus.Bus) (string, error) {
	leases, err := b.Bucket(ctx, bus.BucketLease)
	if err != nil {
		return "", err
	}
	entry, err := leases.Get(ctx, leaseKey)
	if errors.Is(err, bus.ErrNoKey) {
		return "", nil
	}
	return holderOf(entry.Value).Leader, err
}

// holderOf decodes the value of the lease. Of a value of any other form it returns a holder without a name, and with no
// place in the log: a standby cannot tell then whether it has the newest state.
func holderOf(value []byte) holder {
	var h holder
	if json.Unmarshal(value, &h) != nil {
		return holder{}
	}
	return h
}

// lease is the right to try to lead. It avoids wasted work; it guards nothing. A goroutine of its own renews it once it is won, so that a
// failover may take longer than a lease lasts.
type lease struct {
	bucket bus.Bucket
	name   string

	mu       sync.Mutex
	revision uint64
	// closed is the end of the log when the loop last showed life.
	closed uint64
	// kept is when the last call began that renewed the lease.
	kept time.Time
	// lost says that another coordinator has the lease.
	lost bool
	// alive is when the loop last showed life; zero before it begins.
	alive time.Time
}

// expired reports whether another coordinator may have the lease by now. That does not tell who leads. But a coordinator that no longer
// leads must not answer heartbeats: the node would keep running its exclusive instances beside the replacements that another coordinator
// has placed.
func (l *lease) expired() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost || time.Since(l.kept) > bus.LeaseAge
}

// beat records that the loop is alive, and where the log ends. It returns when the lease was last kept, or errLost if another coordinator has it.
func (l *lease) beat(closed uint64) (kept time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alive, l.closed = time.Now(), closed
	if l.lost {
		return l.kept, fmt.Errorf("%w: it has the lease", errLost)
	}
	return l.kept, nil
}

// keep renews the lease until stop is called or another coordinator has it. It does not renew it while the loop hangs.
func (l *lease) keep(ctx context.Context) (stop func()) {
	return beside(ctx, func(ctx context.Context) {
		pulse := time.NewTicker(pulseEvery)
		defer pulse.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-pulse.C:
			}
			if !l.renew(ctx) {
				return
			}
		}
	})
}

// renew reports whether to keep renewing the lease. Neither a bus that does not answer nor a lease that expired meanwhile ends it.
func (l *lease) renew(ctx context.Context) bool {
	l.mu.Lock()
	revision, has, hangs := l.revision, holder{l.name, l.closed}, !l.alive.IsZero() && time.Since(l.alive) > hungAfter
	l.mu.Unlock()
	if hangs || ctx.Err() != nil {
		return true
	}
	call, cancel := context.WithTimeout(ctx, bus.LeaseAge/3)
	defer cancel()
	began := time.Now()
	revision, err := l.bucket.Put(call, leaseKey, has.value(), revision)
	kept, ours, lost := err == nil, err == nil, false
	if errors.Is(err, bus.ErrPosition) {
		before, err := l.bucket.Get(call, leaseKey)
		revision, ours = before.Revision, errors.Is(err, bus.ErrNoKey) || (err == nil && holderOf(before.Value).Leader == l.name)
		lost = err == nil && !ours
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = lost
	if ours {
		l.revision = revision
	}
	if kept {
		l.kept = began
	}
	return !lost
}

// claim returns the lease. If another coordinator holds it, claim returns nil and the revision of the lease.
func (c *Coordinator) claim(ctx context.Context) (l *lease, held uint64, err error) {
	if err := c.Signers.mayLead(c.cluster); err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	if c.leases == nil {
		leases, err := c.Bus.Bucket(ctx, bus.BucketLease)
		if err != nil {
			return nil, 0, err
		}
		c.leases = leases
	}
	began := time.Now()
	before, err := c.leases.Get(ctx, leaseKey)
	has := holderOf(before.Value)
	if err == nil && c.cluster.Sequence >= has.Sequence {
		c.heard = began
	}
	if err == nil && has.Leader != c.Name {
		return nil, before.Revision, nil
	}
	if err == nil || errors.Is(err, bus.ErrNoKey) {
		l, err = c.take(ctx, before.Revision)
	}
	if err != nil {
		c.leases = nil // the bucket may be lost: the next claim opens it again
	}
	if errors.Is(err, bus.ErrNoStream) { // which would say that a stream of the log is missing
		err = fmt.Errorf("%w: the bucket of the lease is lost: %s", bus.ErrNoAnswer, err.Error())
	}
	return l, 0, err
}

// take takes a lease that is free, or returns nil if another coordinator was faster.
func (c *Coordinator) take(ctx context.Context, before uint64) (*lease, error) {
	began, has := time.Now(), holder{c.Name, c.cluster.Sequence}
	revision, err := c.leases.Put(ctx, leaseKey, has.value(), before)
	if errors.Is(err, bus.ErrPosition) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := &lease{bucket: c.leases, name: c.Name, revision: revision, closed: has.Sequence, kept: began}
	if err := c.checkClock(ctx, newClock(c.Now())); err != nil {
		l.release(ctx)
		return nil, err
	}
	return l, nil
}

// release gives the lease up, so that another coordinator can lead at once. It works after ctx has ended. It does not touch the lease of
// another coordinator.
func (l *lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bus.CallTimeout)
	defer cancel()
	if err := l.bucket.Delete(ctx, leaseKey, l.revision); err != nil {
		return // it expires on its own
	}
}
