package world

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/node"
)

// exclusives has people of some plans say that services are exclusive, in what they say anyhow.
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

// mustHaveEnded reports whether an exclusive instance was lost so long ago that its host has ended it.
func (i *instance) mustHaveEnded() bool { return i.lost && i.window > 0 }

// lostAfterOf is how long its node is silent before an instance is lost: one that is exclusive has ended by then.
func (k *knowledge) lostAfterOf(i *instance) time.Duration {
	const margin = 2 * time.Second
	after := k.lostAfter(i.id.Service)
	if i.window > 0 {
		after = max(after, i.window) + margin
	}
	return after
}

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

// yields reports whether the window of an exclusive instance is nearly over, or was before its host was last told: its node ends
// it, so that its host need not.
func (h *host) yields(c node.Container, i *instance) bool {
	until, before := h.engine.Guarded(c)
	if before.IsZero() {
		before = until
	}
	early := i.window/4 + h.world.plan.Heartbeat // that its host was told of the last heartbeat, it may not have heard
	return i.window > 0 && !until.IsZero() && !time.Now().Before(before.Add(-early))
}

// guards reports whether the container is one of an exclusive slot.
func (h *host) guards(c node.Container) bool {
	until, _ := h.engine.Guarded(c)
	return !until.IsZero()
}

// oneLives holds an exclusive slot to have one live container at most, on whatever hosts.
func (j *judge) oneLives(on *host, started node.Container) {
	i := j.cluster.instances[started.Instance]
	if exclusive := on.guards(started) || (i != nil && i.window > 0); j.rewound || !exclusive {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(j.w.hosts)) {
		for _, c := range j.w.hosts[name].running() {
			if c.Instance.Service == started.Instance.Service && c.Instance.Ordinal == started.Instance.Ordinal && c.Instance != started.Instance && j.w.hosts[name].guards(c) {
				j.breach("P5", "%s begins while %s runs on %s still", started.Instance, c.Instance, name)
			}
		}
	}
}
