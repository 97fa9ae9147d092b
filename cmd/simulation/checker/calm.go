package checker

import (
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// calmState is since when nothing has been broken, and since when the log says other things than the engines.
type calmState struct {
	since   time.Time
	checked time.Time
	faults  int // so far
	// unlike is since when the log says of an instance what its engine does not have.
	unlike map[events.InstanceID]time.Time
	// read are the processes that have read the whole log since.
	read map[string]bool
}

// Bounds of a cluster in which nothing is broken.
const (
	// settlesWithin is how long it may take for what a fault has left: the longest back-off, and the steps after it.
	settlesWithin = 3 * time.Minute
	// checkEvery is how often it is looked at.
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

// unlikeEngine checks that no instance of the node runs for long and does not serve, or is gone and is not removed.
func (c *Checker) unlikeEngine(e Engine) {
	m, now := c.facts.nodes[e.Node], c.Now()
	if m == nil {
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
			c.breach("P9", "%s is %s for %s in which nothing was broken, and its engine has another thing", id, i, lasts)
			return
		}
	}
}

// refusedAgain is how soon a process may try again to store what a full log has refused: with every try it reads the whole log.
const refusedAgain = 5 * time.Second

// TriedFull checks that a process leaves a full log alone for a while, once that has refused it. Refused is when it did last.
func (c *Checker) TriedFull(process string, refused time.Time) {
	since := c.Now().Sub(refused)
	c.must(refused.IsZero() || since >= refusedAgain, "work", "%s tries a full log again after %s", process, since)
}

// ReadLog checks that a process reads the log from its start but once while nothing is broken: it may learn late that another leads.
func (c *Checker) ReadLog(process string, from uint64) {
	calm := c.calmFor()
	if from > 1 || calm <= settlesWithin {
		return
	}
	c.must(!c.calm.read[process], "work", "%s reads the whole log again after %s in which nothing was broken", process, calm)
	c.calm.read[process] = true
}

// mostInASecond is how many events may be stored in a simulated second, ten full rounds: more come from a decision taken without end.
const mostInASecond = 10_000

// decidesAgain checks that the log does not grow without end at one time.
func (c *Checker) decidesAgain() {
	l := &c.log
	if now := c.Now(); now.Sub(l.second) >= time.Second {
		l.second, l.before = now, l.last
	}
	c.must(l.last-l.before <= mostInASecond, "work", "%d events are stored within a second", l.last-l.before)
}

// Work is what was decided and done so far.
type Work struct{ events, steps, orders int }

// Work returns what was decided and done so far.
func (c *Checker) Work() Work { return Work{c.log.events, c.engines.steps, c.orders.written} }

// Stays checks that nothing was decided or done since. Another leader may have written orders once more where they said too much.
func (c *Checker) Stays(since Work, anotherLeads bool) {
	now, why := c.Work(), "nothing was asked and nothing happened"
	if anotherLeads {
		since.orders, why = now.orders, "another leader has looked at everything"
	}
	c.must(now == since || c.runsOut(), "silence", "%d events, %d steps of engines and %d orders come before sequence %d, and %s",
		now.events-since.events, now.steps-since.steps, now.orders-since.orders, c.log.last, why)
}

// runsOut reports whether an instance of a job runs in a service that is none by now: its update is paused, and it ends once it is done.
func (c *Checker) runsOut() bool {
	for _, i := range c.facts.instances {
		if s := c.facts.services[i.id.Service]; i.runs() && s != nil && !s.spec().IsJob() && s.specs[i.revision].IsJob() {
			return true
		}
	}
	return false
}
