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
	faults  int
	engines int // that are broken
	// quiet is since when nothing has changed but that engines are broken, as they are.
	quiet time.Time
	// unlike is since when the log says of an instance what its engine does not have.
	unlike map[events.InstanceID]time.Time
	// read are the processes that have read the whole log since.
	read map[string]bool
}

// Bounds of a cluster in which nothing is broken.
const (
	// settlesWithin is how long it may take for what a fault has left: the longest back-off, and the steps after it.
	settlesWithin = 3 * time.Minute
	// toldWithin is how long a node may take to say that its engine answers no longer, or again: the time to its next list, the
	// answer time twice, and the way to the log.
	toldWithin = time.Minute
	// checkEvery is how often it is looked at.
	checkEvery = time.Second
)

// Disturbed notes a fault that is over at once.
func (c *Checker) Disturbed() { c.calm = calmState{} }

// calmFor returns for how long nothing has been broken.
func (c *Checker) calmFor() time.Duration {
	t, now := c.Trouble(), c.Now()
	if t.Faults != c.calm.faults || t.Engines != c.calm.engines || t.Elsewhere || c.calm.quiet.IsZero() {
		c.calm.quiet, c.calm.engines = now, t.Engines
	}
	if t.Faults != c.calm.faults || t.Engines > 0 || t.Elsewhere || c.calm.since.IsZero() {
		c.calm.since, c.calm.unlike, c.calm.read = now, map[events.InstanceID]time.Time{}, map[string]bool{}
	}
	c.calm.faults = t.Faults
	return now.Sub(c.calm.since)
}

// checkCalm checks, once nothing has been broken for long, that the log and the engines say the same.
func (c *Checker) checkCalm() {
	now := c.Now()
	if now.Sub(c.calm.checked) < checkEvery || c.replaying {
		return
	}
	c.calm.checked = now
	calm := c.calmFor()
	if calm == 0 && now.Sub(c.calm.quiet) < toldWithin {
		return
	}
	for _, e := range c.Engines() {
		if now.Sub(c.calm.quiet) >= toldWithin {
			c.toldOfEngine(e)
		}
		if calm > 0 {
			c.unlikeEngine(e)
		}
	}
}

// toldOfEngine checks that the log has a node as degraded whose engine has refused to list for long, and no other.
func (c *Checker) toldOfEngine(e Engine) {
	m := c.facts.nodes[e.Node]
	switch {
	case m == nil || m.epoch == 0 || m.silent || c.Now().Sub(m.heard) < toldWithin:
	case e.Refuses && !m.degraded:
		c.breach("nodes", "the engine of %s lists nothing for more than %s, and the log does not have it as degraded", e.Node, toldWithin)
	case c.calm.engines == 0 && m.degraded:
		c.breach("nodes", "the log has %s as degraded, and its engine answers for more than %s", e.Node, toldWithin)
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
