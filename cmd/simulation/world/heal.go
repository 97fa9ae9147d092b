package world

import (
	"strings"
	"time"

	"github.com/rookery-project/rookery/events/bus"
)

// heal ends every fault, and starts each part that is down.
func (w *World) heal() {
	w.note("== everything heals")
	w.healing = true
	for len(w.ongoing) > 0 {
		over := w.ongoing[0]
		w.ongoing = w.ongoing[1:]
		over()
	}
	w.putConfigs()
	for _, p := range w.parts {
		if !p.program.Levels.Hold(w.checker.Level()) {
			p.becomes(newer) // no other part is replaced: a restart would repair what must be repaired without one
		}
		if p.client != nil {
			p.client.trap, p.client.tear = nil, false
		}
		if p.name != operatorName && !p.alive() {
			p.down = 0
			w.revive(p)
		}
	}
}

// Bounds of what follows the healing.
const (
	// convergeWithin is how long the cluster may take to converge, and commandWithin how much longer for each command that waits for earlier
	// ones. A command has 10 minutes, and so has a slow pull of an image.
	convergeWithin, commandWithin = 30 * time.Minute, 10 * time.Minute
	// lookAgain is how often the checker looks whether the cluster has converged.
	lookAgain = 5 * time.Second
	// leaderless is how long the last leader is down. Its lease lasts longer, so that another coordinator may lead. Exclusive instances do
	// not end meanwhile.
	leaderless = time.Second
)

// converge waits until the cluster is as the log asks for, and checks that it stays so: by itself, and after a failover, in which the new
// leader reconciles everything.
func (w *World) converge() {
	began, limit := time.Now(), convergeWithin
	var why []string
	for !w.broken() && time.Since(began) < limit {
		limit = max(limit, convergeWithin+time.Duration(w.checker.Backlog())*commandWithin) // some may not have been decided before
		w.until(time.Now().Add(lookAgain), w.broken)
		if why = append(w.unheard(began), w.checker.Unlike()...); len(why) == 0 {
			break
		}
	}
	if w.broken() {
		return
	}
	if len(why) > 0 {
		w.breach("P9", "%s after everything healed: %s", limit, strings.Join(why, "; "))
		return
	}
	w.stays(false)
	w.checkEnd()
	w.replaceLeader()
	w.stays(true)
}

// unheard returns the nodes that have had no answer to a heartbeat since. They may still stop their exclusive instances.
func (w *World) unheard(since time.Time) (why []string) {
	for _, p := range w.parts {
		if w.hosts[p.name] != nil && p.alive() && p.client.heard.Before(since) {
			why = append(why, p.name+" has had no answer to a heartbeat since")
		}
	}
	return why
}

// stays lets time pass in which nothing is due. It checks that the cluster decides and does nothing, under the same leader or another.
func (w *World) stays(anotherLeads bool) {
	before := w.checker.Work()
	w.until(w.checker.SilentUntil(), w.broken)
	if !w.broken() {
		w.checker.Stays(before, anotherLeads)
	}
}

// replaceLeader kills the leader, and starts it again.
func (w *World) replaceLeader() {
	if p := w.partNamed(w.checker.Log().Leader); p != nil && p.alive() && !w.broken() {
		w.crash(p, p.client, Action{For: leaderless})
	}
}

// checkEnd checks the views, the snapshots of the fold and a coordinator's answer once the cluster is silent.
func (w *World) checkEnd() {
	if w.broken() {
		return
	}
	w.checker.Views()
	w.checker.Snapshots(w.spoiled)
	w.checker.Asked()
	w.ask()
	w.until(time.Now().Add(callTimeout), w.broken)
	if !w.checker.Answered() && !w.broken() {
		w.breach("P7", "no coordinator has answered with its state at sequence %d", w.checker.Log().Last)
	}
}

// reread passes the current log to the checker, which reads it from the start.
func (w *World) reread() { w.checker.Restored(w.server.Backup(bus.Log).Messages()) }
