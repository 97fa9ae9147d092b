package world

import "time"

func drawHosts(d *drawer, a *Action) { a.Targets = d.hosts() }

func hitPartition(w *World, a Action) {
	for _, name := range a.Targets {
		w.cut(name)
	}
	w.lasts(a, func() {
		for _, name := range a.Targets {
			w.mend(name)
		}
	})
}

func hitSlowNetwork(w *World, a Action) {
	const least, spread = 100 * time.Millisecond, 8 * time.Second
	for _, name := range a.Targets {
		w.linkOf(name).slow = least + time.Duration(a.N)*time.Millisecond%spread
	}
	w.lasts(a, func() {
		for _, name := range a.Targets {
			w.linkOf(name).slow = 0
		}
	})
}

func hitLeakyNetwork(w *World, a Action) {
	const half = 50
	for _, name := range a.Targets {
		w.linkOf(name).leaky = 1 + a.N%half
	}
	w.lasts(a, func() {
		for _, name := range a.Targets {
			w.linkOf(name).leaky = 0
		}
	})
}

func (w *World) cut(name string) { w.linkOf(name).cut = true }

// mend reconnects a host to the server. Its client sends the messages that it kept, and reads the messages stored since.
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

func hitServerRestart(w *World, a Action) {
	w.serversAway(a, w.server.Restart)
}

func hitServerFull(w *World, a Action) {
	w.full = true
	w.lasts(a, func() { w.full = false })
}

// drawAppend draws an append of a coordinator, to the log or to the orders.
func drawAppend(d *drawer, a *Action) {
	a.Targets, a.For, a.Point = []string{d.coordinator()}, 0, AppendLog
	if d.IntN(3) == 0 {
		a.Point = AppendOrders
	}
}

func hitLostAppend(w *World, a Action) { w.loseAppend(a, true) }

func hitLostAnswer(w *World, a Action) { w.loseAppend(a, false) }

func (w *World) loseAppend(a Action, before bool) {
	if p := w.partNamed(a.Targets[0]); p.alive() {
		p.client.trap = &trap{point: a.Point, before: before, spring: func() { w.note("== %s", a.Kind) }}
	}
}

func drawCoordinator(d *drawer, a *Action) { a.Targets, a.For = []string{d.coordinator()}, 0 }

func hitTornRound(w *World, a Action) {
	if p := w.partNamed(a.Targets[0]); p.alive() {
		p.client.tear = true
	}
}
