package checker

import "github.com/rookery-project/rookery/events"

// Level is the level that the cluster has reached.
func (c *Checker) Level() events.Level { return c.facts.level }

// Writes takes what is to be stored in the log next: the process that writes it must work at the level that the cluster has reached.
func (c *Checker) Writes(process string, works events.Levels) {
	c.must(works.Hold(c.facts.level), "levels", "%s writes the log at level %d, and works at %s", process, c.facts.level, works)
}
