package world

import (
	"context"
	"errors"
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// moody is the argument of a hook whose program sometimes refuses a request, or gives no answer.
const moody = "moody"

// The errors with which the programs of hooks refuse a request.
var (
	errMoody         = errors.New("not now")
	errToldOtherwise = errors.New("the file says something else") // a careful program trusts its topology file
)

// Ask implements node.Engine. A container of a sick image carries out no request.
func (e *engine) Ask(ctx context.Context, c node.Container, hook events.Hook, asked node.Asked, address string) error {
	const silent, refused = 16, 8 // of so many one
	k := e.call(Check, "hook of "+c.Instance.String(), 0)
	k.route = func(k *call) {
		if e.host.balks(hook, silent) {
			k.expire()
			return
		}
		if _, snapshot := asked.(events.Ask); snapshot {
			e.host.writing(k)
			return
		}
		e.host.take(k, 0)
	}
	_, stops := asked.(events.Stopping)
	if stops {
		k.key = stopHook(c)
	}
	_, err := do(ctx, k, func() (struct{}, error) {
		if stops {
			e.host.world.checker.MakesReady(e.host.step(c))
		}
		if len(hook.Exec) > 0 && hook.Exec[0] == hangs {
			return struct{}{}, errNoEngine
		}
		if e.host.world.imageOf(e.host.imageOf(c)) == sick {
			return struct{}{}, errSick
		}
		if e.host.balks(hook, refused) {
			return struct{}{}, errMoody
		}
		if err := e.host.engine.Ask(context.Background(), c, hook, asked, address); err != nil {
			return struct{}{}, err
		}
		switch asked := asked.(type) {
		case events.TopologyChange:
			if !e.host.world.does(e.host, c, asked) {
				return struct{}{}, errToldOtherwise
			}
		case events.Ask:
			e.host.world.checker.Did(c.Instance, asked.Confirmed())
		}
		return struct{}{}, nil
	})
	return err
}

// balks draws whether the hook's program refuses this time, one time in one on average. Once everything heals no program refuses.
func (h *host) balks(hook events.Hook, one int) bool {
	return slices.Contains(hook.Exec, moody) && !h.world.healing && h.draw.IntN(one) == 0
}
