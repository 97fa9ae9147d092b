package runner

import (
	"context"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// outputTimeout is how long the status of a failed container waits at most until the node has stored the container's last lines. That
// takes a few milliseconds while the engine and the bus are healthy. Otherwise the status matters more than the lines.
const outputTimeout = time.Second

// keepOutput reads the container's last lines and stores them on the bus. The status of the failure waits for that, because it is the
// only message with the key, and the key must exist. If the lines cannot be stored, the status has no key.
//
// Later statuses of the instance wait behind that status, and so does the full list. The container must exist until its lines are read.
// Nothing else waits.
func (a *Agent) keepOutput(ctx context.Context, in *instance, c node.Container) {
	in.keeping = true
	a.keeping++
	id, attempt := in.view.Instance, in.view.Attempt
	key := events.OutputKey(id, attempt)
	call, cancel := context.WithTimeout(ctx, outputTimeout)
	a.beside(ctx, func() func() {
		defer cancel()
		kept, err := a.keep(call, c, attempt)
		return func() {
			in.keeping = false
			a.keeping--
			if err != nil {
				a.Log.Warn("cannot store the last lines of a container", "instance", id.String(), "error", err)
			}
			if kept {
				in.told[0] = in.told[0].Kept(c, key)
				in.view = in.view.Kept(c, key)
			}
			for _, v := range in.told {
				a.publisher.put(v)
			}
			in.told = nil
			a.settle(ctx, in)
		}
	})
}

// keep stores the last lines of the attempt's container, and reports whether it did. A container that has printed nothing has no lines.
// There may already be lines of the same attempt from an earlier process of the node.
func (a *Agent) keep(ctx context.Context, c node.Container, attempt uint32) (bool, error) {
	lines, err := a.Engine.Output(ctx, c)
	if err != nil || len(lines) == 0 {
		return false, err
	}
	err = a.Supply.KeepOutput(ctx, c.Instance, attempt, lines)
	return err == nil, err
}
