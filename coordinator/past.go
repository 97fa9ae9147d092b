package coordinator

import (
	"iter"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Past repeats the decisions about what has happened, in a state that it changes and that the caller must not use afterwards.
type Past struct{ rehearsal }

// NewPast begins with a state, at its time.
func NewPast(c *projections.Cluster) *Past {
	return &Past{rehearsal{cluster: c, work: NewWorkQueue(c), now: c.Now}}
}

// Round takes recorded events as they are, decides what follows from them and from the time, and returns all of it in order. It
// applies each recorded event before it reads the next; at most MaxPerInput of them fit. The time must not be before that of
// the former round. The former round's records become invalid.
func (p *Past) Round(now time.Time, happened iter.Seq[events.Event]) []events.Record {
	p.now = now
	return p.round(func(t *Turn) {
		for e := range happened {
			t.Happened(e)
		}
		t.Due()
	})
}

// Waits reports whether decisions did not fit into the last round, and need another round at the same time.
func (p *Past) Waits() bool { return p.work.Waits(p.cluster) }

// Happened adds a recorded event to the round, as it is.
func (t *Turn) Happened(e events.Event) {
	t.cause = e.Cause
	t.emit(e.Scope, e.Data)
}
