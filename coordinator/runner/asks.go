package runner

import (
	"context"
	"time"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// askTimeout bounds how long a question waits for the loop.
const askTimeout = 4 * time.Second

// ask is something that only the goroutine of the loop can answer: it alone may read the state.
type ask func(*Coordinator)

// put hands the ask to the loop and waits until it is answered, or refused because the state is not that of the log.
func (c *Coordinator) put(ctx context.Context, answer ask) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	done := make(chan struct{})
	settled := false
	a := func(c *Coordinator) {
		defer close(done)
		if settled = c.settled; settled {
			answer(c)
		}
	}
	select {
	case c.asks <- a:
		<-done
		if !settled {
			return &bus.QuestionError{Code: 503, Reason: "the coordinator is folding the log: ask again"}
		}
		return nil
	case <-ctx.Done():
		return api.ErrBusy
	}
}

// present hands the state to a function that only reads it, as put does.
func (c *Coordinator) present(ctx context.Context, read func(c *projections.Cluster, leading bool)) error {
	return c.put(ctx, func(c *Coordinator) {
		read(c.cluster, c.leading)
		api.NoteFreshness(ctx, c.cluster.Sequence, time.Since(c.heard))
	})
}
