package runner

import (
	"context"
	"errors"
	"time"
)

// check asks the instance whether it is healthy, beside its steps: any of them ends it. One at a time.
func (a *Agent) check(ctx context.Context, in *instance) {
	if in.checking != nil {
		return // its end goes on
	}
	container, health := *in.view.Container, *in.view.Check()
	call, cancel := context.WithTimeout(ctx, time.Duration(health.Timeout))
	in.checking = cancel
	a.beside(ctx, func() func() {
		defer cancel()
		err := a.Engine.Check(call, container, health, a.Facts.Address)
		ended := errors.Is(call.Err(), context.Canceled)
		return func() {
			in.checking = nil
			if !ended {
				a.change(ctx, in, in.view.Checked(container, err, time.Now()))
			}
			a.settle(ctx, in)
		}
	})
}
