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

// hitStreamLost deletes a stream that is kept on disk; it is made again, and after a while adopted. Half of the times the
// nodes begin anew meanwhile, as after a power cut.
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

// hitLostAsRead has a node begin anew, and the stream of orders deleted and made again between its joining and its reading:
// the leader has not seen it yet, and what the node reads lacks the orders of the containers that it has.
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

// hitLogRestored puts an older log in the place of the one there is, which after a while is adopted.
func hitLogRestored(w *World, a Action) {
	w.tamper()
	w.server.Restore(bus.Log, w.backups[a.N%len(w.backups)])
	w.reread()
	w.spread()
	w.lasts(a, w.adopt)
}

// adopt has an operator adopt the streams as they are.
func (w *World) adopt() {
	p := &part{world: w, name: operatorName}
	p.run = func(ctx context.Context, c *client, _ string) error {
		for ctx.Err() == nil {
			did, err := coordinator.Adopt(ctx, c, operatorName)
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
	p.keepDown() // it ends when it is done
	w.parts = append(w.parts, p)
	p.start()
}

// hitLogDamaged changes or loses a message of the log while no coordinator runs, has them see it, and repairs it.
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
	const inFlight = 20 * time.Second // what was sent has arrived by then
	w.at(time.Now().Add(inFlight), func() bool {
		// What is before a snapshot nobody reads any more.
		if last, first := w.checker.Log().Closed, max(w.newestFold(w.checker.Log().Closed), 1); last > first && !w.healing {
			w.damage(a, first+uint64(a.N)%(last-first))
		}
		for _, p := range hit {
			p.letUp()
		}
		return true
	})
}

// damage has a message of the log be another one, or none, until it is repaired.
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
