package simulated

import (
	"context"
	"maps"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// Stats implements node.Engine: what Use said.
func (e *Engine) Stats(context.Context) (map[string]node.Stats, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.used), nil
}

// Use has the instance's running container use this much, until it is said otherwise. It reports false where none runs.
func (e *Engine) Use(id events.InstanceID, stats node.Stats) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for k, c := range e.containers {
		if k.instance == id && c.State == node.Running {
			if e.used == nil {
				e.used = map[string]node.Stats{}
			}
			e.used[c.Handle] = stats
			return true
		}
	}
	return false
}
