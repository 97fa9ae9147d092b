package world

import (
	"context"
	"slices"
	"time"

	coordinator "github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// operatorName is the name of the part that adopts streams.
const operatorName = "operator"

// tamper notes that an operator or a disk has changed a stream.
func (w *World) tamper() {
	w.tampered = true
	w.checker.Tampered()
}

// hitStreamLost deletes a stream that is kept on disk and creates it again. After a while an operator adopts it. In half of the cases the
// nodes restart meanwhile, as after a power cut.
func hitStreamLost(w *World, a Action) {
	stream := []bus.Stream{bus.Commands, bus.Orders}[a.N%2]
	w.tamper()
	w.server.Remake(stream)
	w.checker.Lost(stream)
	w.spread()
	w.lasts(a, w.adopt)
	if a.N/2%2 == 0 {
		return
	}
	for _, p := range slices.Clone(w.parts) {
		if w.hosts[p.name] != nil {
			boot := a
			boot.For = a.For / 2
			w.crash(p, p.client, boot)
		}
	}
}

// hitLostAsRead restarts a node. It deletes the stream of orders and creates it again after the node has joined, and before the node reads
// the orders. The leader has not noticed yet, and the node finds no orders for the containers that it has.
func hitLostAsRead(w *World, a Action) {
	p := w.partNamed(a.Targets[0])
	w.ordersRead = func(reader *client) {
		if reader != p.client || w.healing {
			return
		}
		w.ordersRead = nil
		w.note("== the orders are lost as %s reads them", reader.name)
		w.tamper()
		w.server.Remake(bus.Orders)
		w.checker.Lost(bus.Orders)
		w.spread()
		w.lasts(a, w.adopt)
	}
	begun := a
	begun.For = time.Second
	w.crash(p, p.client, begun)
}

// hitLogRestored replaces the log by an older one, which an operator adopts after a while.
func hitLogRestored(w *World, a Action) {
	w.tamper()
	w.server.Restore(bus.Log, w.backups[a.N%len(w.backups)])
	w.reread()
	w.spread()
	w.lasts(a, w.adopt)
}

// adopt runs the adoption of the streams as an operator does.
func (w *World) adopt() {
	p := &part{world: w, name: operatorName, program: newer}
	p.run = func(ctx context.Context, c *client, _ string) error {
		for ctx.Err() == nil {
			did, err := coordinator.Adopt(ctx, c, operatorName, c.program, w.signers())
			if err == nil {
				p.log().Info(did)
				return nil
			}
			p.log().Warn("cannot adopt", "error", err.Error())
			const pause = 5 * time.Second
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
		return nil
	}
	p.keepDown() // it ends by itself, and must not start again
	w.parts = append(w.parts, p)
	p.start()
}

// hitLogDamaged changes or deletes a message of the log while no coordinator runs. It starts the coordinators, and repairs the log later.
func hitLogDamaged(w *World, a Action) {
	w.tamper()
	var hit []*part
	for _, p := range w.parts {
		if isCoordinator(p.name) {
			p.kill()
			p.keepDown()
			hit = append(hit, p)
		}
	}
	w.arrived(hit, func() {
		// No coordinator reads the messages before the newest snapshot, so damage there would go unnoticed.
		if last, first := w.checker.Log().Closed, max(w.newestFold(w.checker.Log().Closed), 1); last > first && !w.healing {
			w.damage(a, first+uint64(a.N)%(last-first))
		}
		for _, p := range hit {
			p.letUp()
		}
	})
}

// arrived calls do once all messages of processes that have ended have arrived. Those that a cut link holds arrive after its repair.
func (w *World) arrived(of []*part, do func()) {
	const onTheirWay = 20 * time.Second
	w.at(time.Now().Add(onTheirWay), func() bool {
		if slices.ContainsFunc(of, func(p *part) bool { return p.client.link.cut }) {
			w.arrived(of, do)
		} else {
			do()
		}
		return true
	})
}

// damage changes or deletes a message of the log, and restores the log after the time of the action.
func (w *World) damage(a Action, sequence uint64) {
	backup := w.server.Backup(bus.Log)
	w.checker.Damaged(true)
	w.server.Damage(bus.Log, sequence, func(m events.Message) (events.Message, bool) {
		m.Body = slices.Clone(m.Body)
		m.Body[len(m.Body)/2] ^= 1
		return m, a.N%2 == 0
	})
	w.lasts(a, func() {
		w.checker.Damaged(false)
		w.server.Restore(bus.Log, backup)
		w.spread()
	})
}
