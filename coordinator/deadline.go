package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Due fails the commands whose deadline has passed, and queues the services whose waiting time is over. The targets that the
// commands set stay. Due also ends a move that takes too long.
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
			t.work.add(cmd.Service) // it succeeds once the service has been settled for long enough
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

// deadlineOf returns when a command to the service fails that began at begun, unless it ends before. For a job, only the time
// counts in which no node can take any of its instances: not the time in which it runs or backs off after a failure. For an
// operation, the time since its last phase began counts, without the time in which it waits for the operator or for a pause to
// pass. No open command waits for a paused operation.
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

// operationsDue queues every service whose operation may have waited long enough.
func (t *Turn) operationsDue() {
	for id := range t.Cluster.Operating() {
		if t.atService(events.WorkDue, id) && t.Cluster.Services[id].Operation.Paused == "" {
			t.work.add(id)
		}
	}
}
