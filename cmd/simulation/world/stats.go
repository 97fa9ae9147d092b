package world

import (
	"context"
	"time"

	"github.com/rookery-project/rookery/node"
)

// Stats implements node.Engine.
func (e *engine) Stats(ctx context.Context) (map[string]node.Stats, error) {
	k := e.call(Stats, "stats", 0)
	k.route = e.host.takeStats
	return do(ctx, k, func() (map[string]node.Stats, error) { return e.host.used(), nil })
}

// takeStats carries a request for the statistics of containers to the engine and back. It fails when a list fails. It draws nothing, so that
// a run with nodes that measure could differ from one without only if measurements changed decisions.
func (h *host) takeStats(k *call) {
	const takes = 30 * time.Millisecond
	out := k.effect
	if kind := h.wrong(List); kind == EngineHangs {
		k.expire()
		return
	} else if kind == EngineRefuses || kind == EngineFails {
		out = func() outcome { return outcome{err: errEngine} }
	}
	h.comeBack(k, out(), takes)
}

// used returns the statistics of the running containers. Their CPU time grows with simulated time.
func (h *host) used() map[string]node.Stats {
	const part, memory = 10, uint64(64 << 20)
	cpu, all := h.world.since()/part, map[string]node.Stats{}
	for _, c := range h.running() {
		all[c.Handle] = node.Stats{CPU: &cpu, Memory: new(memory), Received: new(memory), Sent: new(memory)}
	}
	return all
}
