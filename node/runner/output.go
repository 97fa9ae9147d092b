package runner

import (
	"context"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

// outputTimeout is how long the news of a failure waits at most for the container's last lines to be kept. It takes a few
// milliseconds where engine and bus are well, and where they are not the news is worth more than the lines.
const outputTimeout = time.Second

// keepOutput reads what the container printed last and has the bus keep it. The status that tells of the failure waits
// for that: it is the one message of it that counts, and may name no key that nobody has written. Without the lines,
// for whatever reason, it goes out without the key. What the instance says meanwhile waits behind it, and so does the full
// list; the container itself must stay until it is read. Nothing else waits.
func (a *Agent) keepOutput(ctx context.Context, in *instance, c node.Container) {
	in.keeping = true
	a.keeping++
	id, key := in.view.Instance, events.OutputKey(in.view.Instance, in.view.Attempt)
	call, cancel := context.WithTimeout(ctx, outputTimeout)
	a.beside(ctx, func() func() {
		defer cancel()
		kept, err := a.keep(call, c, key)
		return func() {
			in.keeping = false
			a.keeping--
			if err != nil {
				a.Log.Warn("cannot keep what a container printed last", "instance", id.String(), "error", err)
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

// keep reports whether the container's last lines stand under the key. One that has printed nothing has none. The key
// may have those of the same attempt already, from an earlier process of the node.
func (a *Agent) keep(ctx context.Context, c node.Container, key string) (bool, error) {
	lines, err := a.Engine.Output(ctx, c)
	if err != nil || len(lines) == 0 {
		return false, err
	}
	outputs, err := a.Bus.Bucket(ctx, bus.BucketOutput)
	if err != nil {
		return false, err
	}
	err = outputs.Set(ctx, key, lines)
	return err == nil, err
}
