package runner

import (
	"context"
	"errors"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

const (
	// tellTimeout is how long the node may take to write a topology file.
	tellTimeout = 10 * time.Second
	// tellAgain is how long the node waits before it retries to write a topology file.
	tellAgain = time.Second
)

// informing is what the node does beside the steps of an instance that has a topology: it writes the topology file, and asks what the
// topology asks. Each has at most one call under way, which its function ends; nil for none.
type informing struct {
	telling context.CancelFunc
	asking  context.CancelFunc
	asked   node.Inform // what the node asks it
	again   time.Time   // when the node retries to write the file
}

func (i *informing) underWay() bool { return i.telling != nil || i.asking != nil }

// end ends both calls, because a step begins.
func (i *informing) end() {
	if i.telling != nil {
		i.telling()
	}
	if i.asking != nil {
		i.asking()
	}
}

// inform writes the instance's topology file, and then asks the instance what the topology asks. It ends a question that the order no
// longer asks. The next question waits until that has ended.
func (a *Agent) inform(ctx context.Context, in *instance) {
	next, wanted := in.view.Informs()
	if in.informing.asking != nil && !next.Asks(in.informing.asked) && in.view.Order.Action == events.ActionRun {
		in.informing.asking()
	}
	switch {
	case !wanted || in.busy:
	case next.Told:
		a.askHook(ctx, in, next)
	case time.Now().Before(in.informing.again):
		a.await(in, in.informing.again)
	default:
		a.tellTopology(ctx, in, next)
	}
}

func (a *Agent) tellTopology(ctx context.Context, in *instance, next node.Inform) {
	if in.informing.telling != nil {
		return
	}
	document := in.view.Document()
	call, cancel := context.WithTimeout(ctx, tellTimeout)
	in.informing.telling = cancel
	a.beside(ctx, func() func() {
		defer cancel()
		err := a.Engine.Tell(call, next.Container, next.Path, document)
		ended := errors.Is(call.Err(), context.Canceled)
		return func() {
			in.informing.telling = nil
			switch {
			case ended:
			case err != nil:
				in.informing.again = time.Now().Add(tellAgain)
				a.Log.Warn("cannot write a topology file; the node tries again in a second", "instance", in.view.Instance.String(), "error", err)
			default:
				a.change(ctx, in, in.view.Learnt(next))
			}
			a.settle(ctx, in)
		}
	})
}

func (a *Agent) askHook(ctx context.Context, in *instance, next node.Inform) {
	if in.informing.asking != nil {
		return
	}
	call, cancel := context.WithTimeout(ctx, next.Timeout)
	in.informing.asking, in.informing.asked = cancel, next
	a.beside(ctx, func() func() {
		defer cancel()
		exports, err := a.do(call, next)
		if err != nil && errors.Is(call.Err(), context.DeadlineExceeded) {
			err = context.DeadlineExceeded
		}
		ended := errors.Is(call.Err(), context.Canceled)
		return func() {
			in.informing.asking = nil
			if !ended {
				a.change(ctx, in, in.view.Answered(next, exports, err))
			}
			a.settle(ctx, in)
		}
	})
}

// do runs the hook, or exports the volumes.
func (a *Agent) do(ctx context.Context, next node.Inform) ([]events.Export, error) {
	if next.Hook != nil {
		return nil, a.Engine.Ask(ctx, next.Container, *next.Hook, next.Asked, a.Facts.Address)
	}
	return a.export(ctx, next.Container, next.Exports)
}
