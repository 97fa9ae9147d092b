package world

import (
	"time"

	"github.com/rookery-project/rookery/events/bus"
)

// refusedAgain is how soon a process may try again to store what a full log has refused: somebody has to make room, and
// with every try it reads the whole log.
const refusedAgain = 5 * time.Second

// triesFull holds the process to leave a full log alone for a while, once it has learnt that it is full.
func (j *judge) triesFull(c *client) {
	if since := time.Since(c.refused); !c.refused.IsZero() && since < refusedAgain {
		j.breach("thrift", "%s tries a full log again after %s", c.name, since)
	}
}

// reads holds the process to read the log from its start but once where nothing is broken any more: it may learn late
// that it has lost the lead meanwhile.
func (j *judge) reads(c *client, stream bus.Stream, from uint64) {
	if stream != bus.Log || from > 1 || c == j.w.person {
		return
	}
	lasts := j.calm()
	if lasts <= mendsWithin {
		return
	}
	if j.quiet.read[c] {
		j.breach("thrift", "%s reads the whole log again after %s in which nothing was broken", c.name, lasts)
	}
	j.quiet.read[c] = true
}
