package coordinator

import "github.com/rookery-project/rookery/events"

// TakenOver gives the phase that the service's operation is in its whole time once more, as a leader takes over: slots that were
// done in time while nobody led have not failed, and those that were not may have waited for a leader. Leaders that end one
// after the other so prolong a phase without end, as nobody could say of a slot that it had its time; commands keep their
// deadlines all the while. A phase in which nothing is to be done but to wait lasts no longer for it.
func (t *Turn) TakenOver(id events.ServiceID) {
	s := t.Cluster.Services[id]
	if !t.atService(events.WorkFailover, id) || s == nil || s.Operation == nil || s.Operation.Paused != "" || s.Operation.Phase.Rests() {
		return
	}
	if lasts := s.Current().Spec.Updates().Lasts(s.Operation.Phase); lasts > 0 {
		t.cause = t.causeOf(s)
		t.emit(events.ServiceScope(id), events.OperationProlonged{Operation: s.Operation.Started, Until: t.Now.Add(lasts)})
	}
}
