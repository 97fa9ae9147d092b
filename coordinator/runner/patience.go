package runner

import (
	"context"
	"errors"
	"time"

	"github.com/rookery-project/rookery/events/bus"
)

// While a stream elects its leader, nothing answers for it, and a request that was sent before is lost. NATS takes four to nine seconds for
// that. A leader that tries again in place loses that time alone. One that gives up would have to take over again, and for that it
// needs the leader of all streams, too, which may take NATS twenty seconds to elect.
const (
	// tryFor is how long one try waits for its answer.
	tryFor = 2 * time.Second
	// tryAgain is the time between two tries.
	tryAgain = 100 * time.Millisecond
	// electedWithin is how long it is tried.
	electedWithin = 20 * time.Second
)

// patiently calls try until it returns an error that is not passing or none, or for electedWithin. Then it returns the last error.
func (c *Coordinator) patiently(ctx context.Context, try func(context.Context) error) error {
	late := time.Now().Add(electedWithin)
	for {
		call, cancel := context.WithTimeout(ctx, tryFor)
		err := try(call)
		cancel()
		c.learn(err)
		if !passing(err) || ctx.Err() != nil || time.Now().After(late) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(tryAgain):
		}
	}
}

// passing reports whether an error may be that of a stream that elects its leader.
func passing(err error) bool {
	return errors.Is(err, bus.ErrUnknown) || errors.Is(err, bus.ErrNoAnswer)
}

// The knowledge of a coordinator about the quorum of the NATS servers.
const (
	quorumUnknown int64 = iota
	quorumMissing
	quorumStands
)

// learn notes what a call to the bus tells of its servers. One without an answer tells nothing.
func (c *Coordinator) learn(err error) {
	switch {
	case err == nil:
		c.quorum.Store(quorumStands)
	case errors.Is(err, bus.ErrNoQuorum):
		c.quorum.Store(quorumMissing)
	case passing(err):
		c.quorum.CompareAndSwap(quorumStands, quorumUnknown)
	}
}

// agree reports whether enough servers run to agree, and whether that is known.
func (c *Coordinator) agree() (stands, known bool) {
	quorum := c.quorum.Load()
	return quorum == quorumStands, quorum != quorumUnknown
}
