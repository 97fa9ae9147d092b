package coordinator

import (
	"iter"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Past decides once more on what has happened, in a state of its own that goes with it and is of no use to anybody afterwards.
type Past struct{ rehearsal }

// NewPast begins with a state, at its time.
func NewPast(c *projections.Cluster) *Past {
	return &Past{rehearsal{cluster: c, agenda: NewAgenda(c), now: c.Now}}
}

// Round takes what happened as it is, decides what follows from it and from the time, and returns all of it in order. Each
// thing that happened is in the state before the next is asked for; at most MaxPerInput of them fit. The time must not be
// before that of the round before, whose records are of no use any more.
func (p *Past) Round(now time.Time, happened iter.Seq[events.Event]) []events.Record {
	p.now = now
	return p.round(func(t *Turn) {
		for e := range happened {
			t.Happened(e)
		}
		t.Due()
	})
}

// Waits reports whether something did not fit into the last round, and is to be decided in another one at the same time.
func (p *Past) Waits() bool { return p.agenda.Waits(p.cluster) }

// Happened takes into the round what is known to have happened, as it is.
func (t *Turn) Happened(e events.Event) {
	t.cause = e.Cause
	t.emit(e.Scope, e.Data)
}
