package world

import (
	"context"
	"maps"
	"slices"
	"time"

	coordinator "github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

// operatorName is the name of the part that adopts streams.
const operatorName = "operator"

// act does what the action says.
func (w *World) act(a Action) bool {
	w.note("== %s", a)
	switch a.Kind {
	case Command:
		w.publish(a)
		return true
	case Ask:
		w.ask()
		return true
	default:
		w.result.Faults[a.Kind]++
	}
	switch a.Kind {
	case Crash, Restart, Freeze, ClockJump:
		w.hitProcess(a)
	case Partition, SlowNetwork, LeakyNetwork:
		w.hitLinks(a)
	case LostAppend, LostAnswer, TornRound, ServerRestart, ServerFull:
		w.hitServer(a)
	case StreamLost, LogRestored, LogDamaged:
		w.hitStream(a)
	default:
		w.hitHost(a)
	}
	return true
}

// lasts has a fault end after its time, or when everything heals.
func (w *World) lasts(a Action, over func()) {
	done := false
	once := func() {
		if !done {
			done = true
			w.note("== over: %s %v", a.Kind, a.Targets)
			over()
		}
	}
	w.ongoing = append(w.ongoing, once)
	w.at(time.Now().Add(a.For), func() bool { once(); return true })
}

// publish has a person publish a command. Who is told its sequence has an acknowledgement.
func (w *World) publish(a Action) {
	m := events.Message{Subject: a.Subject, Header: events.Header{}, Body: slices.Concat([]byte(a.Body), a.Raw)}
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		m.Header[name] = []string{a.Header[name]}
	}
	sequence, err := w.server.Publish(context.Background(), m)
	w.note("stored as %d: %v", sequence, err)
	if err == nil {
		w.result.Commands++
		w.judge.acknowledged(sequence, a)
	}
	w.spread()
}

// ask has a person ask for the state, and the judge hold the answer against the log.
func (w *World) ask() {
	c := w.person
	k := c.call(AskState, events.APIRoot+".state")
	k.deadline = time.Now().Add(callTimeout)
	k.lost = errEnded
	k.then = func(o outcome) {
		if m, ok := o.value.(events.Message); ok && o.err == nil {
			w.judge.answered(m)
		}
	}
	c.ask(k, events.Message{Subject: events.APIRoot + ".state"})
}

func (w *World) hitProcess(a Action) {
	p := w.partNamed(a.Targets[0])
	switch a.Kind {
	case Crash:
		if p.alive() && a.Point != "" {
			c := p.client
			c.trap = &trap{point: a.Point, before: a.Before, spring: func() { w.crash(p, c, a) }}
			return
		}
		w.crash(p, p.client, a)
	case Restart:
		if !p.alive() {
			return
		}
		p.down = true
		p.stop()
		w.lasts(a, func() { p.down = false; w.revive(p) })
	case Freeze:
		c := p.client
		c.freeze()
		w.lasts(a, func() {
			if c.frozen.Load() {
				c.thaw()
			}
		})
	case ClockJump:
		const widest = 2 * int64(time.Hour)
		p.clock.Store(int64(a.N)*int64(time.Second)%widest - widest/2)
		w.lasts(a, func() { p.clock.Store(0) })
	}
}

// crash kills this process of the part, and starts the next one after a while.
func (w *World) crash(p *part, c *client, a Action) {
	if p.client != c {
		return
	}
	p.kill()
	p.down = true
	w.lasts(a, func() { p.down = false; w.revive(p) })
}

// revive starts the part once its last process is gone.
func (w *World) revive(p *part) {
	select {
	case <-p.ended:
		p.again()
	default:
		const pause = 100 * time.Millisecond
		w.at(time.Now().Add(pause), func() bool { w.revive(p); return true })
	}
}

func (w *World) hitLinks(a Action) {
	for _, name := range a.Targets {
		l := w.linkOf(name)
		switch a.Kind {
		case Partition:
			w.cut(name)
		case SlowNetwork:
			l.slow = time.Duration(a.N)*time.Millisecond%(8*time.Second) + 100*time.Millisecond
		case LeakyNetwork:
			const half = 50
			l.leaky = 1 + a.N%half
		}
	}
	w.lasts(a, func() {
		for _, name := range a.Targets {
			switch a.Kind {
			case Partition:
				w.mend(name)
			case SlowNetwork:
				w.linkOf(name).slow = 0
			case LeakyNetwork:
				w.linkOf(name).leaky = 0
			}
		}
	})
}

func (w *World) cut(name string) { w.linkOf(name).cut = true }

// mend has a host reach the server again: what its client kept is sent, and what was stored since is read.
func (w *World) mend(name string) {
	l := w.linkOf(name)
	l.cut = false
	flush := l.flush
	l.flush = nil
	for _, send := range flush {
		send()
	}
	for _, c := range w.clients {
		if c.link == l && !c.ended.Load() {
			c.kickReaders()
		}
	}
}

func (w *World) hitServer(a Action) {
	switch a.Kind {
	case ServerFull:
		w.full = true
		w.lasts(a, func() { w.full = false })
	case ServerRestart:
		names := slices.Sorted(maps.Keys(w.links))
		for _, name := range names {
			w.cut(name)
		}
		w.server.Restart()
		w.spread()
		w.lasts(a, func() {
			for _, name := range names {
				w.mend(name)
			}
		})
	default:
		p := w.partNamed(a.Targets[0])
		if !p.alive() {
			return
		}
		if a.Kind == TornRound {
			p.client.tear = true
			return
		}
		p.client.trap = &trap{point: a.Point, before: a.Kind == LostAppend, spring: func() { w.note("== %s", a.Kind) }}
	}
}

func (w *World) hitHost(a Action) {
	if a.Kind == BadImage {
		image := images[a.N%len(images)]
		w.images[image] = []behaviour{crashes, finishes, absent}[a.N/len(images)%3]
		w.lasts(a, func() { w.images[image] = fine })
		return
	}
	h := w.hosts[a.Targets[0]]
	switch a.Kind {
	case Exit, Vanish:
		h.lose(a)
	case DeafHints:
		h.deaf = true
		w.lasts(a, func() { h.deaf = false })
	case HostDown, HostWiped:
		h.powerOff(a)
	default:
		points := []Point{a.Point}
		if a.N%3 == 0 && a.Point != Prepare && a.Kind != PortTaken {
			points = enginePoints
		}
		t := &trouble{points: points, kind: a.Kind}
		h.troubles = append(h.troubles, t)
		w.lasts(a, func() { h.troubles = slices.DeleteFunc(h.troubles, func(o *trouble) bool { return o == t }) })
	}
}

// lose ends or removes one of the containers that run.
func (h *host) lose(a Action) {
	all := h.running()
	if len(all) == 0 {
		return
	}
	c := all[a.N%len(all)]
	if a.Kind == Exit {
		const signalled = 137
		h.engine.Kill(c.Instance, signalled)
		return
	}
	if err := h.engine.Remove(context.Background(), c); err != nil {
		h.world.note("cannot remove: %v", err)
	}
}

// powerOff ends the node's process and all containers; they are found again later, or not.
func (h *host) powerOff(a Action) {
	p := h.world.partNamed(h.name)
	p.kill()
	p.down = true
	for _, c := range h.running() {
		const signalled = 137
		h.engine.Kill(c.Instance, signalled)
	}
	h.link.flush = nil
	h.world.lasts(a, func() {
		if a.Kind == HostWiped {
			h.engine, h.pulled = newEngine(), map[string]bool{}
		}
		p.down = false
		h.world.revive(p)
	})
}

// hitStream loses or changes a stream as an operator or a disk can, and repairs it.
func (w *World) hitStream(a Action) {
	w.judge.tampered = true
	switch a.Kind {
	case StreamLost:
		stream := []bus.Stream{bus.Commands, bus.Orders}[a.N%2]
		w.server.Remake(stream)
		w.judge.lost(stream)
		w.spread()
		w.lasts(a, w.adopt)
	case LogRestored:
		w.server.Restore(bus.Log, w.backups[a.N%len(w.backups)])
		w.judge.reread()
		w.spread()
		w.lasts(a, w.adopt)
	case LogDamaged:
		w.damage(a)
	}
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
	p.down = true // it ends when it is done
	w.parts = append(w.parts, p)
	p.start()
}

// damage changes or loses a message of the log while no coordinator runs, has them see it, and repairs it.
func (w *World) damage(a Action) {
	var hit []*part
	for _, p := range w.parts {
		if isCoordinator(p.name) {
			p.kill()
			p.down = true
			hit = append(hit, p)
		}
	}
	const inFlight = 20 * time.Second // what was sent has arrived by then
	w.at(time.Now().Add(inFlight), func() bool {
		backup := w.server.Backup(bus.Log)
		if last := w.judge.closed; last > 1 && !w.healing {
			w.judge.damaged = true
			w.server.Damage(bus.Log, 1+uint64(a.N)%(last-1), func(m events.Message) (events.Message, bool) {
				m.Body = slices.Clone(m.Body)
				m.Body[len(m.Body)/2] ^= 1
				return m, a.N%2 == 0
			})
		}
		w.lasts(a, func() {
			w.judge.damaged = false
			w.server.Restore(bus.Log, backup)
			w.spread()
		})
		for _, p := range hit {
			p.down = false
			w.revive(p)
		}
		return true
	})
}

// holds reports whether the host has a container of the instance, and whether it runs.
func (h *host) holds(id events.InstanceID) (there, running bool) {
	for _, c := range h.engine.Containers() {
		if c.Instance == id {
			return true, c.State == node.Running
		}
	}
	return false, false
}
