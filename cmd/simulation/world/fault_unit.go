package world

import (
	"sync/atomic"

	"github.com/rookery-project/rookery/cmd/simulation/strike"
	"github.com/rookery-project/rookery/events"
)

// works lists the kinds of work in which a coordinator panics, with the kind of their scope.
var works = []struct {
	work events.Work
	of   string
}{
	{events.WorkCommand, "service"},
	{events.WorkStatus, "node"},
	{events.WorkReconcile, "service"},
	{events.WorkReconcile, "group"},
	{events.WorkReconcile, "node"},
	{events.WorkDue, "service"},
	{events.WorkLiveness, "node"},
	{events.WorkFailover, "service"},
	{events.WorkRebalance, "cluster"},
}

// drawUnit draws the work and the scope in which the coordinators panic.
func drawUnit(d *drawer, a *Action) {
	struck := works[d.IntN(len(works))]
	scope := "cluster"
	switch struck.of {
	case "service":
		scope = "service " + d.service().String()
	case "group":
		scope = "group team/some"
	case "node":
		scope = "node " + d.node()
	}
	a.Targets = []string{string(struck.work), scope}
}

// hitPanics makes every coordinator panic in the unit for a while. Then it replaces the leader: the new leader tries again the work that the
// old one has set aside.
func hitPanics(w *World, a Action) {
	var struck atomic.Bool
	strike.Set(func(u events.Unit) bool {
		is := string(u.Work) == a.Targets[0] && u.Scope.String() == a.Targets[1]
		if is {
			struck.Store(true)
		}
		return is
	})
	w.lasts(a, func() {
		strike.Set(func(events.Unit) bool { return false })
		w.note("== struck: %t", struck.Load())
		if struck.Load() {
			w.replaceLeader()
		}
	})
}
