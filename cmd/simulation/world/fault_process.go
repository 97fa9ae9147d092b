package world

import "time"

// The points at which a fault can hit a process of each kind.
var (
	coordinatorPoints = []Point{AppendLog, AppendOrders, WriteBucket, LookAtStream, ReadBucket, ReadOrders, Tell}
	nodePoints        = []Point{PublishStatus, Beat, ReadOrders, Prepare, Start, Stop, Remove, List, Inspect, Check}
)

// drawCrash draws a process, and mostly the point at which it is killed.
func drawCrash(d *drawer, a *Action) {
	a.Targets, a.Before = []string{d.process()}, d.IntN(2) == 0
	points := nodePoints
	if isCoordinator(a.Targets[0]) {
		points = coordinatorPoints
	}
	if d.IntN(5) > 0 {
		a.Point = points[d.IntN(len(points))]
	}
	const soon = 5 * time.Second
	a.For = d.soon(soon)
}

func hitCrash(w *World, a Action) {
	p := w.partNamed(a.Targets[0])
	c := p.client
	if p.alive() && a.Point != "" {
		c.trap = &trap{point: a.Point, before: a.Before, spring: func() { w.crash(p, c, a) }}
		return
	}
	w.crash(p, c, a)
}

// crash kills this process of the part, and starts the next one after a while.
func (w *World) crash(p *part, c *client, a Action) {
	if p.client != c {
		return
	}
	p.kill()
	p.keepDown()
	w.lasts(a, p.letUp)
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

func hitRestart(w *World, a Action) {
	p := w.partNamed(a.Targets[0])
	if !p.alive() {
		return
	}
	p.keepDown()
	p.stop()
	w.lasts(a, p.letUp)
}

func hitFreeze(w *World, a Action) {
	c := w.partNamed(a.Targets[0]).client
	c.freeze()
	w.lasts(a, func() {
		if c.frozen.Load() {
			c.thaw()
		}
	})
}

// hitClock sets the wall clock of a process wrong. Half of the processes restart with the wrong clock, as on a host that boots.
func hitClock(w *World, a Action) {
	const widest = 2 * int64(time.Hour)
	p := w.partNamed(a.Targets[0])
	p.clock.Store(int64(a.N)*int64(time.Second)%widest - widest/2)
	w.lasts(a, func() { p.clock.Store(0) })
	if a.N%2 == 0 {
		boot := a
		boot.For = time.Second
		w.crash(p, p.client, boot)
	}
}
