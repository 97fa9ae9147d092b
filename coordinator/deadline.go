package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// ProgressDeadline is how long an accepted command may take.
const ProgressDeadline = 10 * time.Minute

// Due fails the commands whose deadline has passed, and has what waits for its time be looked at. What the commands asked
// for stays desired. A move that takes as long ends, too.
func (t *Turn) Due() {
	t.moveDue()
	t.jobsDue()
	for _, sequence := range slices.Sorted(maps.Keys(t.Cluster.Open())) {
		cmd := t.Cluster.Commands[sequence]
		if cmd.Queued || t.Now.Before(t.deadlineOf(cmd)) || !t.Takes() {
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
