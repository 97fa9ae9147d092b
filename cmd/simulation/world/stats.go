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

// takeStats is the way of a question what containers use. It goes wrong as a list does, and draws nothing, so that a run with nodes that
// measure differs from one without by their decisions alone.
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

// used is what the containers use that run: more of the processor from time to time.
func (h *host) used() map[string]node.Stats {
	const part, memory = 10, uint64(64 << 20)
	cpu, all := h.world.since()/part, map[string]node.Stats{}
	for _, c := range h.running() {
		all[c.Handle] = node.Stats{CPU: &cpu, Memory: new(memory), Received: new(memory), Sent: new(memory)}
	}
	return all
}
