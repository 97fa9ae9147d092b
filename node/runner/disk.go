package runner

import (
	"context"
	"time"
)

const (
	// measureEvery is the least time between two measurements of an instance's disk. It is over by the next listing.
	measureEvery = lookEvery - time.Second
	// measureShare spaces slow measurements: the next one comes after this many times as long as the last one took. So a disk full of
	// small files takes at most that fraction of the time.
	measureShare   = 50
	measureTimeout = time.Minute
)

// measure measures the disk of every instance whose time has come, beside their steps.
func (a *Agent) measure(ctx context.Context) {
	for _, in := range a.inOrder() {
		if in.view.Measurable() && !in.measuring && !time.Now().Before(in.measureAt) {
			a.measureOne(ctx, in)
		}
	}
}

func (a *Agent) measureOne(ctx context.Context, in *instance) {
	in.measuring = true
	container, scratch, began := *in.view.Container, in.view.Order.Spec.ScratchPath(), time.Now()
	call, cancel := context.WithTimeout(ctx, measureTimeout)
	a.beside(ctx, func() func() {
		defer cancel()
		usage, err := a.Engine.Usage(call, container, scratch)
		return func() {
			now := time.Now()
			in.measuring, in.measureAt = false, began.Add(max(measureEvery, measureShare*now.Sub(began)))
			switch {
			case err != nil:
				in.disk = nil
				a.Log.Warn("cannot measure what an instance takes of the disk", "instance", in.view.Instance.String(), "error", err)
			case !in.busy:
				if c := in.view.Container; c != nil && c.Handle == container.Handle {
					in.disk = new(uint64(usage.Own + usage.Scratch))
				}
				a.change(ctx, in, in.view.Measured(container, usage, now))
				a.settle(ctx, in)
			}
		}
	})
}
