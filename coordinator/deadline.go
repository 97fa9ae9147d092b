package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Due fails the commands whose deadline has passed, and has what waits for its time be looked at. What the commands asked
// for stays desired. A move that takes as long ends, too.
func (t *Turn) Due() {
	t.Fill(func() {
		t.livenessDue()
		t.moveDue()
		t.jobsDue()
		t.crashedDue()
		t.operationsDue()
		t.snapshotsDue()
		t.commandsDue()
	})
}

func (t *Turn) commandsDue() {
	for _, sequence := range slices.Sorted(maps.Keys(t.Cluster.Open())) {
		cmd := t.Cluster.Commands[sequence]
		t.reserve(MaxPerInput)
		if !t.at(events.Unit{Work: events.WorkDue, Scope: cmd.Scope(), Sequence: sequence}) || t.Cluster.Hampers(cmd) != nil {
			t.hampered(cmd)
			continue
		}
		if g := t.Cluster.Groups[sequence]; g != nil {
			t.groupDue(g)
			continue
		}
		if cmd.Node != "" {
			t.nodeDue(cmd)
			continue
		}
		if s := t.Cluster.Services[cmd.Service]; s != nil && s.Settled() {
			t.agenda.add(cmd.Service) // it succeeds once that has lasted for as long as counts
			continue
		}
		if cmd.Queued || t.Now.Before(t.deadlineOf(cmd.Service, cmd.Begun)) {
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

// deadlineOf is when a command to the service fails that began at a time, unless it has ended. One that waits for a job does so
// for as long as that runs or rests after a failure: only the time in which no node could have any of its instances counts. Of an
// operation the time since its last phase began counts, without that in which it waits for people, or for a time to pass; one
// that is paused waits for no command that is open.
func (t *Turn) deadlineOf(id events.ServiceID, begun time.Time) time.Time {
	s := t.Cluster.Services[id]
	if s == nil {
		return begun.Add(time.Duration(events.DefaultProgressDeadline))
	}
	since := []time.Time{begun}
	switch {
	case s.Dropped:
	case s.Job != nil:
		since = append(since, s.Job.Moved, retryAt(s))
		if s.Filled() > 0 || s.Pending == nil {
			since = append(since, t.Now)
		}
	case s.Operation != nil && s.Operation.Paused == "":
		since = append(since, s.Operation.Entered)
		if s.Operation.Phase.Rests() {
			since = append(since, t.Now)
		}
	}
	return slices.MaxFunc(since, time.Time.Compare).Add(time.Duration(s.Current().Spec.Updates().ProgressDeadline))
}

// operationsDue has every service be looked at whose operation may have waited long enough.
func (t *Turn) operationsDue() {
	for id := range t.Cluster.Operating() {
		if t.atService(events.WorkDue, id) && t.Cluster.Services[id].Operation.Paused == "" {
			t.agenda.add(id)
		}
	}
}
