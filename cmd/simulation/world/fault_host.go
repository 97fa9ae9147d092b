package world

import (
	"context"
	"slices"
	"time"

	"github.com/rookery-project/rookery/node"
)

var enginePoints = []Point{Prepare, Start, Stop, Remove, List, Inspect, Check}

// killed is the exit code of a process that was killed.
const killed = 137

func drawEngine(d *drawer, a *Action) {
	a.Targets, a.Point = []string{d.node()}, enginePoints[d.IntN(len(enginePoints))]
}

func drawPrepare(d *drawer, a *Action) { a.Targets, a.Point = []string{d.node()}, Prepare }

func drawStart(d *drawer, a *Action) { a.Targets, a.Point = []string{d.node()}, Start }

func drawNode(d *drawer, a *Action) { a.Targets = []string{d.node()} }

func drawContainer(d *drawer, a *Action) { a.Targets, a.For = []string{d.node()}, 0 }

func drawImage(d *drawer, a *Action) {
	const long = 4 * time.Minute
	a.For = d.soon(long)
}

// hitEngine makes the engine's calls at one point go wrong, or at every point.
func hitEngine(w *World, a Action) {
	const every = 3
	points := []Point{a.Point}
	if a.N%every == 0 {
		points = enginePoints
	}
	w.hosts[a.Targets[0]].suffer(a, points)
}

func hitPoint(w *World, a Action) { w.hosts[a.Targets[0]].suffer(a, []Point{a.Point}) }

func (h *host) suffer(a Action, points []Point) {
	t := &trouble{points: points, kind: a.Kind}
	h.troubles = append(h.troubles, t)
	h.world.lasts(a, func() { h.troubles = slices.DeleteFunc(h.troubles, func(o *trouble) bool { return o == t }) })
}

func hitDeafHints(w *World, a Action) {
	h := w.hosts[a.Targets[0]]
	h.deaf = true
	w.lasts(a, func() { h.deaf = false })
}

func hitBadImage(w *World, a Action) {
	image := images[a.N%len(images)]
	w.images[image] = []behaviour{crashes, finishes, absent, sick}[a.N/len(images)%4]
	w.lasts(a, func() { w.images[image] = fine })
}

func hitExit(w *World, a Action) {
	h := w.hosts[a.Targets[0]]
	if c, ok := h.pick(a); ok {
		h.engine.Kill(c.Instance, killed)
	}
}

func hitVanish(w *World, a Action) {
	h := w.hosts[a.Targets[0]]
	if c, ok := h.pick(a); ok {
		if err := h.engine.Remove(context.Background(), c); err != nil {
			w.note("cannot remove: %v", err)
		}
	}
}

// pick picks one of the running containers.
func (h *host) pick(a Action) (node.Container, bool) {
	all := h.running()
	if len(all) == 0 {
		return node.Container{}, false
	}
	return all[a.N%len(all)], true
}

func hitHostDown(w *World, a Action) { w.hosts[a.Targets[0]].powerOff(a, func() {}) }

func hitHostWiped(w *World, a Action) {
	h := w.hosts[a.Targets[0]]
	h.powerOff(a, func() {
		h.engine, h.pulled = newEngine(), map[string]bool{}
		w.checker.Wiped(h.name)
	})
}

// powerOff ends the node's process and all containers. When the power is back the host still has the containers, unless back removes them.
func (h *host) powerOff(a Action, back func()) {
	p := h.world.partNamed(h.name)
	p.kill()
	p.keepDown()
	for _, c := range h.running() {
		h.engine.Kill(c.Instance, killed)
	}
	h.link.flush = nil
	h.world.lasts(a, func() {
		back()
		p.letUp()
	})
}
