package checker

import (
	"maps"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// calmState says since when nothing has been broken, and since when the log and the engines disagree.
type calmState struct {
	since   time.Time
	checked time.Time
	faults  int // number of faults so far
	// unlike says of each instance since when the log and its engine disagree.
	unlike map[events.InstanceID]time.Time
	// read are the processes that have read the whole log since.
	read map[string]bool
}

// Bounds of a cluster in which nothing is broken.
const (
	// settlesWithin is how long the cluster may take to settle after a fault: the longest back-off, and the steps after it.
	settlesWithin = 3 * time.Minute
	// checkEvery is how often the checker compares them.
	checkEvery = time.Second
)

// Disturbed notes a fault that is over at once.
func (c *Checker) Disturbed() { c.calm = calmState{} }

// calmFor returns for how long nothing has been broken.
func (c *Checker) calmFor() time.Duration {
	faults, broken := c.Trouble()
	now := c.Now()
	if faults != c.calm.faults || broken || c.calm.since.IsZero() {
		c.calm.since, c.calm.unlike, c.calm.read = now, map[events.InstanceID]time.Time{}, map[string]bool{}
	}
	c.calm.faults = faults
	return now.Sub(c.calm.since)
}

// checkCalm checks, once nothing has been broken for long, that the log and the engines say the same.
func (c *Checker) checkCalm() {
	now := c.Now()
	if now.Sub(c.calm.checked) < checkEvery || c.replaying {
		return
	}
	c.calm.checked = now
	if c.calmFor() == 0 {
		return
	}
	for _, e := range c.Engines() {
		c.unlikeEngine(e)
	}
}

// unlikeEngine checks that no instance of the node runs for long without serving, or is gone for long without being removed.
func (c *Checker) unlikeEngine(e Engine) {
	m, now := c.facts.nodes[e.Node], c.Now()
	if m == nil {
		return
	}
	if !m.levels.Hold(c.facts.level) { // a node that is too old leaves everything as it is
		maps.DeleteFunc(c.calm.unlike, func(id events.InstanceID, _ time.Time) bool { return m.instances[id] != nil })
		return
	}
	state := map[events.InstanceID]node.State{}
	for _, has := range e.Containers {
		state[has.Instance] = has.State
	}
	for id, i := range m.instances {
		has, there := state[id]
		runs := there && has == node.Running
		if unlike := (i.retired && (!there || runs)) || (!i.retired && runs && i.seen.Phase != events.PhaseOnline); !unlike {
			delete(c.calm.unlike, id)
			continue
		}
		if c.calm.unlike[id].IsZero() {
			c.calm.unlike[id] = now
		}
		if lasts := now.Sub(c.calm.unlike[id]); lasts > settlesWithin {
			c.breach("P9", "the log has had %s %s for %s in which nothing was broken, but its engine disagrees", id, i, lasts)
			return
		}
	}
}

// refusedAgain is how soon a process may try again to append to a full log: it reads the whole log with every try.
const refusedAgain = 5 * time.Second

// TriedFull checks that a process waits after a full log has refused it. Refused is the time of the last refusal.
func (c *Checker) TriedFull(process string, refused time.Time) {
	since := c.Now().Sub(refused)
	c.must(refused.IsZero() || since >= refusedAgain, "work", "%s tries to append to a full log again after only %s", process, since)
}

// ReadLog checks that a process reads the log from its start at most once while nothing is broken. One read is allowed, because the
// process may learn late that another coordinator leads.
func (c *Checker) ReadLog(process string, from uint64) {
	calm := c.calmFor()
	if from > 1 || calm <= settlesWithin {
		return
	}
	c.must(!c.calm.read[process], "work", "%s reads the whole log again after %s in which nothing was broken", process, calm)
	c.calm.read[process] = true
}

// mostInASecond is how many events a coordinator may store in a simulated second: ten full rounds. More come from an endless decision.
const mostInASecond = 10_000

// decidesAgain checks that the log does not grow without end within a second.
func (c *Checker) decidesAgain() {
	l := &c.log
	if now := c.Now(); now.Sub(l.second) >= time.Second {
		l.second, l.before = now, l.last
	}
	c.must(l.last-l.before <= mostInASecond, "work", "the coordinators stored %d events within a second", l.last-l.before)
}

// Work counts what the cluster has decided and done so far.
type Work struct{ events, steps, orders int }

// Work returns what the cluster has decided and done so far.
func (c *Checker) Work() Work { return Work{c.log.events, c.engines.steps, c.orders.written} }

// Stays checks that the cluster has decided and done nothing since. A new leader may write an order again that holds too much.
func (c *Checker) Stays(since Work, anotherLeads bool) {
	now, why := c.Work(), "no command arrived and no fault happened"
	if anotherLeads {
		since.orders, why = now.orders, "a new leader has reconciled everything"
	}
	c.must(now == since || c.runsOut(), "silence", "%d events, %d steps of engines and %d orders were added up to sequence %d, although %s",
		now.events-since.events, now.steps-since.steps, now.orders-since.orders, c.log.last, why)
}

// runsOut reports whether an instance of a job still runs in a service that is a job no longer. The update of such a service is paused,
// and the instance ends once it is done.
func (c *Checker) runsOut() bool {
	for _, i := range c.facts.instances {
		if s := c.facts.services[i.id.Service]; i.runs() && s != nil && !s.spec().IsJob() && s.specs[i.revision].IsJob() {
			return true
		}
	}
	return false
}
