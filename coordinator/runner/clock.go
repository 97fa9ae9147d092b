package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/rookery-project/rookery/events/bus"
)

// clock tells the time of a term's rounds: that of the wall when the term began, and what has passed since. Where the
// wall's jumps, the rounds' does not.
type clock struct{ wall, since time.Time }

func newClock(wall time.Time) clock { return clock{wall: wall, since: time.Now()} }

// now is the time to the millisecond, as the log keeps it.
func (k clock) now() time.Time {
	return k.wall.Add(time.Since(k.since)).UTC().Truncate(time.Millisecond)
}

// checkClock refuses a clock that is far from the server's: every decision carries its time.
func (c *Coordinator) checkClock(ctx context.Context, k clock) error {
	ctx, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	asked := k.now()
	server, err := c.Bus.Now(ctx)
	if err != nil {
		return err
	}
	if skew := asked.Sub(server).Abs(); skew > bus.MaxSkew {
		return fmt.Errorf("%w: it is %s off", errClock, skew.Round(time.Millisecond))
	}
	return nil
}
