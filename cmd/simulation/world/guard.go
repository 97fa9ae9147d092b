package world

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/node"
)

// Guard implements node.Engine: what guards is beside the engine's service, and none of its troubles are its own.
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

// watch ends what may run no more, and looks again when something else may not.
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

// oneLives holds an exclusive slot to have one live container at most, on whatever hosts.
func (j *judge) oneLives(started node.Container) {
	s := j.cluster.services[started.Instance.Service]
	if j.rewound || s == nil || !s.specs[started.Revision].Exclusive {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(j.w.hosts)) {
		for _, c := range j.w.hosts[name].running() {
			if c.Instance.Service == started.Instance.Service && c.Instance.Ordinal == started.Instance.Ordinal && c.Instance != started.Instance && s.specs[c.Revision].Exclusive {
				j.breach("P5", "%s begins while %s runs on %s still", started.Instance, c.Instance, name)
			}
		}
	}
}
