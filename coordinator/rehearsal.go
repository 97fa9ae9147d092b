package coordinator

import (
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// maxPlanned is the most rounds that a plan looks ahead.
const maxPlanned = 4 * events.MaxScale

// rehearsal decides ahead of time, in a state that it changes and that its caller must not use afterwards.
type rehearsal struct {
	cluster *projections.Cluster
	work    *WorkQueue
	now     time.Time
}

// round decides a round of the input and of what is due at its time, and returns its events.
func (r *rehearsal) round(input func(*Turn)) []events.Record {
	t := NewTurn(r.cluster, r.work, r.now)
	t.Fill(func() { input(t) })
	t.Look()
	c := r.cluster
	c.Close(c.Sequence+uint64(len(t.Records))+1, events.RoundClosed{
		Round: c.Round + 1, Epoch: c.Epoch, Leader: c.Leader, Now: r.now, Commands: c.CommandCursor, Statuses: c.StatusCursor,
	}, c.Chain)
	return t.Records
}
