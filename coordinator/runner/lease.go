package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rookery-project/rookery/events/bus"
)

const leaseKey = "leader"

// lease is the right to try to lead. It saves wasted work and guards nothing.
type lease struct {
	bucket   bus.Bucket
	name     string
	revision uint64
	// kept is when the last call began that has kept it.
	kept time.Time
}

// expired reports whether another may have the lease by now. It tells nothing of who leads; but a node that is answered by one who
// leads no more would have its exclusive instances run on beside those that another has put in their place.
func (l *lease) expired() bool { return time.Since(l.kept) > bus.LeaseAge }

// claim returns the lease, or nil and its revision where another coordinator holds it.
func (c *Coordinator) claim(ctx context.Context) (l *lease, held uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if c.leases == nil {
		leases, err := c.Bus.Bucket(ctx, bus.BucketLease)
		if err != nil {
			return nil, 0, err
		}
		c.leases = leases
	}
	before, err := c.leases.Get(ctx, leaseKey)
	if err == nil && string(before.Value) != c.Name {
		return nil, before.Revision, nil
	}
	if err == nil || errors.Is(err, bus.ErrNoKey) {
		l, err = c.take(ctx, before.Revision)
	}
	if err != nil {
		c.leases = nil // the bucket may be lost: it is opened anew
	}
	return l, 0, err
}

// take takes a lease that nobody else holds, or returns nil where another coordinator was faster.
func (c *Coordinator) take(ctx context.Context, before uint64) (*lease, error) {
	began := time.Now()
	revision, err := c.leases.Put(ctx, leaseKey, []byte(c.Name), before)
	if errors.Is(err, bus.ErrPosition) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := &lease{bucket: c.leases, name: c.Name, revision: revision, kept: began}
	if err := c.checkClock(ctx, newClock(c.Now())); err != nil {
		l.release(ctx)
		return nil, err
	}
	return l, nil
}

// renew keeps the lease. It returns errLost where another coordinator has it; a bus that does not answer is no loss.
func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bus.LeaseAge/3)
	defer cancel()
	began := time.Now()
	revision, err := l.bucket.Put(ctx, leaseKey, []byte(l.name), l.revision)
	switch {
	case err == nil:
		l.revision, l.kept = revision, began
	case errors.Is(err, bus.ErrPosition):
		return fmt.Errorf("%w: it has the lease", errLost)
	}
	return nil
}

// release gives the lease up, so that another can lead at once. It works after ctx has ended.
func (l *lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := l.bucket.Delete(ctx, leaseKey, l.revision); err != nil {
		return // it runs out by itself
	}
}
