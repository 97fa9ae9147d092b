package world

import (
	"strings"
	"time"

	"github.com/rookery-project/rookery/events/bus"
)

// heal ends every fault, and starts what is down.
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
	// convergeWithin is how long the cluster may take to be as it must be, and commandWithin how much longer for each command that waits
	// for those before it: a command has 10 minutes, and an image that is pulled slowly as many.
	convergeWithin, commandWithin = 30 * time.Minute, 10 * time.Minute
	// lookAgain is how often it is looked at whether it is.
	lookAgain = 5 * time.Second
	// leaderless is how long the last leader stays away. Its lease lasts longer, so that another may lead; exclusive instances do
	// not end meanwhile.
	leaderless = time.Second
)

// converge waits until the cluster is as it shall be, and checks that it stays so: by itself, and under a leader that takes over and
// looks at everything.
func (w *World) converge() {
	limit := convergeWithin + time.Duration(w.checker.Backlog())*commandWithin
	end := time.Now().Add(limit)
	var why []string
	for !w.broken() && time.Now().Before(end) {
		w.until(time.Now().Add(lookAgain), w.broken)
		if why = w.checker.Unlike(); len(why) == 0 {
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

// stays lets time go on in which nothing is due, and checks that nothing is decided or done, under the same leader or another.
func (w *World) stays(anotherLeads bool) {
	before := w.checker.Work()
	w.until(w.checker.SilentUntil(), w.broken)
	if !w.broken() {
		w.checker.Stays(before, anotherLeads)
	}
}

// replaceLeader kills the coordinator that leads, and has it begin again.
func (w *World) replaceLeader() {
	if p := w.partNamed(w.checker.Log().Leader); p != nil && p.alive() && !w.broken() {
		w.crash(p, p.client, Action{For: leaderless})
	}
}

// checkEnd checks what stands once nothing happens any more: the views, the snapshots of the fold and what a coordinator answers.
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
		w.breach("P7", "no coordinator has told its state at sequence %d", w.checker.Log().Last)
	}
}

// reread has the checker read the log as it is now.
func (w *World) reread() { w.checker.Restored(w.server.Backup(bus.Log).Messages()) }
