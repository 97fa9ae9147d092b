package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// claimEvery is how often a standby tries for a lease that its holder does not renew.
const claimEvery = 250 * time.Millisecond

// follower folds the log as it grows.
type follower struct {
	c      *Coordinator
	fold   *projections.Fold
	reader bus.Reader
	// round are the records of the last closed round, nil where a snapshot at the end of the log has them, and closed is where it ended.
	round  []events.Record
	closed uint64
}

// errForged occurs when a stored log does not fold, and only the last signature was verified: others may have written rounds into it, which a fold
// that verifies each signature leaves out.
var errForged = errors.New("a round in the log may not be a coordinator's")

// take folds the next message of the log.
func (f *follower) take(m events.Message) error {
	records, err := f.fold.Take(m)
	if len(records) > 0 && err == nil {
		err = f.c.works(f.fold.Cluster)
	}
	err = f.doubted(err)
	if len(records) > 0 {
		if _, closed := records[len(records)-1].Data.(events.RoundClosed); closed { // otherwise it is a void, which has no effects
			f.round, f.closed = records, m.Sequence
		}
	}
	return err
}

// doubted returns errForged for an error of a fold that has not verified each signature. All later folds of the process do.
func (f *follower) doubted(err error) error {
	if err == nil || !f.fold.Stored || f.fold.Cluster.Key == "" {
		return err
	}
	f.c.verifies = true
	return fmt.Errorf("%w: %s", errForged, err.Error()) // the error itself may be of what others have written
}

func (c *Coordinator) follow(ctx context.Context) (*follower, error) {
	c.leading, c.settled = false, false
	fold, reader, err := c.folds.Begin(ctx, math.MaxUint64)
	if err != nil {
		return nil, err
	}
	fold.Stored = !c.verifies
	f := &follower{c: c, fold: fold, reader: reader, closed: fold.Cluster.Sequence}
	c.cluster = f.fold.Cluster
	if err := c.works(c.cluster); err != nil {
		f.stop()
		return nil, err
	}
	return f, nil
}

// stop ends the reading of the log, if that has not ended.
func (f *follower) stop() {
	if f.reader != nil {
		f.reader.Stop()
		f.reader = nil
	}
}

// standBy folds the log and tries for the lease until it wins it. While the holder renews the lease, it tries less often. It tries
// before it answers what was asked meanwhile, so that one order of its inputs has one outcome.
func (f *follower) standBy(ctx context.Context) (*lease, error) {
	claim := time.NewTimer(claimEvery)
	defer claim.Stop()
	var seen uint64
	for due := true; ; {
		if err := f.takeAll(); err != nil {
			return nil, err
		}
		if due {
			due = false
			if err := f.settle(ctx); err != nil {
				return nil, err
			}
			l, held, err := f.c.claim(ctx)
			f.c.learn(err)
			if l != nil || fatal(err) {
				return l, err
			}
			if err != nil && ctx.Err() == nil {
				f.c.Log.Warn("cannot try for the lease", "error", err, "advice", advice(err))
				claim.Reset(retryAfter)
				continue
			}
			claim.Reset(claimAgain(held, seen))
			seen = held
			continue
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case m, ok := <-f.reader.Messages():
			if err := f.takeNext(m, ok); err != nil {
				return nil, err
			}
		case a := <-f.c.asks:
			a(f.c)
		case <-claim.C:
			due = true
		}
	}
}

// claimAgain returns when to try again for a lease whose revision was seen before and is held now.
func claimAgain(held, seen uint64) time.Duration {
	if held != seen {
		return bus.LeaseAge / 2 // its holder renews it, so it cannot expire before
	}
	return claimEvery
}

// settle folds up to the end of the log: a standby answers questions, too, and must not claim a lease over a log that it cannot fold.
func (f *follower) settle(ctx context.Context) error {
	if f.c.settled {
		return nil
	}
	return f.catchUp(ctx)
}

// takeAll folds the messages that have arrived, so that questions and claims see all that is known.
func (f *follower) takeAll() error {
	for {
		select {
		case m, ok := <-f.reader.Messages():
			if err := f.takeNext(m, ok); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// takeNext folds the message that the reader returned.
func (f *follower) takeNext(m events.Message, ok bool) error {
	if !ok {
		return bus.ErrReader
	}
	if m.Sequence <= f.fold.Last() {
		return nil // a reader that begins again may repeat it
	}
	return f.take(m)
}

// catchUp folds everything that the log holds now.
func (f *follower) catchUp(ctx context.Context) error {
	var state bus.State
	var asked time.Time
	err := f.c.patiently(ctx, func(ctx context.Context) (err error) {
		asked = time.Now()
		state, err = f.c.Bus.State(ctx, bus.Log)
		return err
	})
	if err != nil {
		return err
	}
	if state.Last < f.fold.Last() {
		return fmt.Errorf("%w: the log ends at %d, and did at %d: it was restored", bus.ErrReader, state.Last, f.fold.Last())
	}
	for f.fold.Last() < state.Last {
		if err := f.takeAll(); err != nil {
			return err
		}
		if f.fold.Last() >= state.Last {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case a := <-f.c.asks:
			a(f.c)
		case m, ok := <-f.reader.Messages():
			if err := f.takeNext(m, ok); err != nil {
				return err
			}
		case <-time.After(bus.CallTimeout):
			return fmt.Errorf("%w: the log ends at %d, and nothing comes after %d", bus.ErrReader, state.Last, f.fold.Last())
		}
	}
	if err := f.doubted(f.fold.Verify()); err != nil {
		return err
	}
	f.fold.Stored = false
	f.c.settled, f.c.heard = true, asked
	return nil
}
