package coordinator

import "github.com/rookery-project/rookery/events"

// TakenOver gives the present phase of the service's operation its whole time again after a failover. Slots that finished in
// time while no coordinator led have not failed, and slots that did not may have waited for a leader. If leaders keep failing
// one after the other, they prolong the phase without end, because no leader can tell that a slot had its time. Commands keep
// their deadlines meanwhile. A phase that only waits does not last longer for it.
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
