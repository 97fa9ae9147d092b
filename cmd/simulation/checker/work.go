package checker

import "time"

// refusedAgain is how soon a process may try again to store what a full log has refused: with every try it reads the whole log.
const refusedAgain = 5 * time.Second

// TriedFull checks that a process leaves a full log alone for a while, once that has refused it. Refused is when it did last.
func (c *Checker) TriedFull(process string, refused time.Time) {
	if since := c.Now().Sub(refused); !refused.IsZero() && since < refusedAgain {
		c.breach("work", "%s tries a full log again after %s", process, since)
	}
}

// ReadLog checks that a process reads the log from its start but once while nothing is broken: it may learn late that another leads.
func (c *Checker) ReadLog(process string, from uint64) {
	if from > 1 {
		return
	}
	calm := c.calmFor()
	if calm <= settlesWithin {
		return
	}
	if c.calm.read[process] {
		c.breach("work", "%s reads the whole log again after %s in which nothing was broken", process, calm)
	}
	c.calm.read[process] = true
}

// mostInASecond is how many events a cluster of a simulation may store in a simulated second: ten full rounds. More of them come from
// a decision that is taken again without end.
const mostInASecond = 10_000

// decidesAgain checks that the log does not grow without end at one time.
func (c *Checker) decidesAgain() {
	l := &c.log
	if now := c.Now(); now.Sub(l.second) >= time.Second {
		l.second, l.before = now, l.last
	}
	if l.last-l.before > mostInASecond {
		c.breach("work", "%d events are stored within a second", l.last-l.before)
	}
}

// Work is what was decided and done so far.
type Work struct{ events, steps, orders int }

// Work returns what was decided and done so far.
func (c *Checker) Work() Work { return Work{c.log.events, c.engines.steps, c.orders.written} }

// Stays checks that nothing was decided or done since, but what a job does that its service lets run to its end. Another leader may
// have led since, which writes orders once more where they say too much.
func (c *Checker) Stays(since Work, anotherLeads bool) {
	now, why := c.Work(), "nothing was asked and nothing happened"
	if anotherLeads {
		since.orders, why = now.orders, "another leader has looked at everything"
	}
	if now != since && !c.runsOut() {
		c.breach("silence", "%d events, %d steps of engines and %d orders come before sequence %d, and %s",
			now.events-since.events, now.steps-since.steps, now.orders-since.orders, c.log.last, why)
	}
}

// runsOut reports whether an instance of a job runs in a service that is none any more: its update is paused, and it ends when it is
// done.
func (c *Checker) runsOut() bool {
	for _, i := range c.facts.instances {
		if s := c.facts.services[i.id.Service]; i.runs() && s != nil && !s.spec().IsJob() && s.specs[i.revision].IsJob() {
			return true
		}
	}
	return false
}
