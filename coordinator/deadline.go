package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// ProgressDeadline is how long an accepted command may take.
const ProgressDeadline = 10 * time.Minute

// NextDue returns the earliest time at which Due has something to decide, or false where nothing waits for a time.
func NextDue(c *projections.Cluster) (time.Time, bool) {
	var next time.Time
	for sequence := range c.Open() {
		due := c.Commands[sequence].Received.Add(ProgressDeadline)
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	if recovered := c.AdoptedAt.Add(projections.RecoverFor); c.Recovering && (next.IsZero() || recovered.Before(next)) {
		next = recovered
	}
	return next, !next.IsZero()
}

// Due fails the commands whose deadline has passed. What they asked for stays desired.
func (t *Turn) Due() {
	for _, sequence := range slices.Sorted(maps.Keys(t.Cluster.Open())) {
		cmd := t.Cluster.Commands[sequence]
		if t.Now.Before(cmd.Received.Add(ProgressDeadline)) || !t.Takes() {
			continue
		}
		t.cause = cmd.Cause
		message := "the service is gone"
		if s := t.Cluster.Services[cmd.Service]; s != nil {
			message = missing(t.Cluster, s)
		}
		t.emit(events.ServiceScope(cmd.Service), events.CommandFailed{
			Sequence: sequence, Reason: events.ReasonDeadline, Message: message,
		})
	}
}
