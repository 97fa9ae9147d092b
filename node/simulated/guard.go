package simulated

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// guarded is until when a container may run, and until when it might before that was last told.
type guarded struct {
	instance      events.InstanceID
	until, before time.Time
}

// Guard implements node.Engine. No container ends by itself here: the owner of the engine must call Expire.
func (e *Engine) Guard(_ context.Context, heard time.Time, all []node.Guarded) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, g := range all {
		before := e.guarded[g.Container.Handle]
		until := heard.Add(g.Window)
		if before.until.After(until) {
			until = before.until
		}
		e.guarded[g.Container.Handle] = guarded{instance: g.Container.Instance, until: until, before: before.until}
	}
	return nil
}

// Guarded returns until when the container may run, and until when it might before that was last told; zero times for never.
func (e *Engine) Guarded(c node.Container) (until, before time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	g := e.guarded[c.Handle]
	return g.until, g.before
}

// Expire ends the running containers whose windows have passed, and returns when the next window ends; the zero time for none.
func (e *Engine) Expire(now time.Time) (next time.Time) {
	e.mu.Lock()
	var ended []events.InstanceID
	for _, handle := range slices.Sorted(maps.Keys(e.guarded)) {
		g := e.guarded[handle]
		_, c := e.byHandle(handle)
		switch {
		case c == nil || c.State == node.Exited:
			delete(e.guarded, handle)
		case now.Before(g.until):
			if next.IsZero() || g.until.Before(next) {
				next = g.until
			}
		case c.State == node.Running:
			ended = append(ended, g.instance)
		}
	}
	e.mu.Unlock()
	const killed = 137
	for _, id := range ended {
		e.Kill(id, killed)
	}
	return next
}
