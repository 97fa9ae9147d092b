package world

import (
	"context"
	"strings"
	"time"

	"github.com/rookery-project/rookery/node"
)

// exclusives makes services of some plans exclusive.
func (d *drawer) exclusives() {
	const share, often = 2, 3
	if d.IntN(share) > 0 {
		return
	}
	for i := range d.plan.Actions {
		a := &d.plan.Actions[i]
		if a.Kind == Command && strings.HasSuffix(a.Subject, ".ensure") && !strings.Contains(a.Body, `"global"`) && d.IntN(often) == 0 {
			a.Body = strings.Replace(a.Body, `"image":`, `"exclusive":true,"image":`, 1)
		}
	}
}

// Guard implements node.Engine. The watchdog is a process of its own beside the engine's service, so faults of the engine do not hit it.
func (e *engine) Guard(ctx context.Context, heard time.Time, guarded []node.Guarded) error {
	k := e.call(Guard, "guard", 0)
	k.route = func(k *call) {
		if !k.springs(true) {
			e.host.comeBack(k, k.effect(), time.Millisecond)
		}
	}
	_, err := do(ctx, k, func() (struct{}, error) {
		err := e.host.engine.Guard(context.Background(), heard, guarded)
		e.host.watch()
		return struct{}{}, err
	})
	return err
}

// watch ends the containers whose window is over, and runs again when the next window ends.
func (h *host) watch() {
	next := h.engine.Expire(time.Now())
	if next.IsZero() || (!h.watches.IsZero() && !next.Before(h.watches)) {
		return
	}
	h.watches = next
	h.world.at(next, func() bool {
		h.watches = time.Time{}
		h.watch()
		return true
	})
}

// guards reports whether the container is one of an exclusive slot.
func (h *host) guards(c node.Container) bool {
	until, _ := h.engine.Guarded(c)
	return !until.IsZero()
}
