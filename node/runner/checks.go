package runner

import (
	"context"
	"errors"
	"time"

	"github.com/rookery-project/rookery/events"
)

// check runs the instance's health check beside its steps. It runs one check at a time, and any step ends it.
func (a *Agent) check(ctx context.Context, in *instance) {
	if in.checking != nil {
		return // the end of that check continues
	}
	container, health, id := *in.view.Container, *in.view.Check(), in.view.Instance
	checking, cancel := context.WithCancel(ctx)
	call, end := context.WithTimeout(checking, time.Duration(health.Timeout))
	in.checking = cancel
	a.beside(ctx, func() func() {
		defer cancel()
		defer end()
		err := a.Engine.Check(call, container, health, a.Facts.Address)
		ended := errors.Is(call.Err(), context.Canceled)
		asked := ended || err == nil || len(health.Exec) == 0 || a.answers(checking, id)
		return func() {
			in.checking = nil
			switch {
			case ended:
			case asked:
				a.change(ctx, in, in.view.Checked(container, err, time.Now()))
			default:
				in.view = in.view.Unchecked(time.Now())
			}
			a.settle(ctx, in)
		}
	})
}

// answers reports whether the engine answers. If the engine did not run a check's command, the failure says nothing about the instance.
func (a *Agent) answers(ctx context.Context, id events.InstanceID) bool {
	call, cancel := context.WithTimeout(ctx, a.AnswerTime)
	defer cancel()
	_, err := a.Engine.Inspect(call, a.owner, id)
	return err == nil
}
