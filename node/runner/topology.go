package runner

import (
	"context"
	"errors"
	"time"

	"github.com/rookery-project/rookery/node"
)

const (
	// tellTimeout is how long the file of a topology may take.
	tellTimeout = 10 * time.Second
	// tellAgain is how long a node rests before it writes a file again that it could not write.
	tellAgain = time.Second
)

// inform has the instance learn of the topology what it is to, and asks it what that asks, beside its steps: any of them ends
// it. One at a time: what is asked in vain by now ends, what else comes waits for the end.
func (a *Agent) inform(ctx context.Context, in *instance) {
	next, wanted := in.view.Informs()
	if in.informing != nil {
		if in.informs.Hook != nil && in.view.Order.Topology != nil && (next.Hook == nil || next.Change != in.informs.Change) {
			in.informing()
		}
		return // its end goes on
	}
	if !wanted || in.busy || time.Now().Before(in.informAt) {
		return
	}
	call, cancel := context.WithCancel(ctx)
	in.informing, in.informs = cancel, next
	document := in.view.Document()
	a.beside(ctx, func() func() {
		defer cancel()
		told := a.tellTopology(call, next, document)
		var answer error
		if told == nil && next.Hook != nil {
			answer = a.askHook(call, next)
		}
		ended := call.Err() != nil
		return func() {
			in.informing = nil
			switch {
			case ended:
			case told != nil:
				in.informAt = time.Now().Add(tellAgain)
				a.Log.Warn("a topology cannot be told", "instance", in.view.Instance.String(), "error", told)
			default:
				a.change(ctx, in, in.view.Informed(next, answer))
			}
			a.settle(ctx, in)
		}
	})
}

func (a *Agent) tellTopology(ctx context.Context, in node.Inform, document []byte) error {
	call, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	return a.Engine.Tell(call, in.Container, in.Path, document)
}

// askHook returns nil once the hook has done what it was asked, and context.DeadlineExceeded where it took too long.
func (a *Agent) askHook(ctx context.Context, in node.Inform) error {
	call, cancel := context.WithTimeout(ctx, in.Timeout)
	defer cancel()
	err := a.Engine.Ask(call, in.Container, *in.Hook, in.Change, a.Facts.Address)
	if err != nil && errors.Is(call.Err(), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}
