package coordinator

import (
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// retireCrashed retires the instances that have used up their restarts, so that others take their places after a back-off.
func (t *Turn) retireCrashed(s *projections.Service) {
	for o, slot := range s.Slots {
		i := slot.Current
		if i == nil || i.Ended().NoRestart != events.NoRestartAttempts || slot.Next != nil || judged(s, uint32(o)) {
			continue
		}
		t.retire(i, events.RetireCrashLooping)
	}
}

// judged reports whether the slot is one that the service's operation goes by now: whether it comes to serve is for that to say, and
// what it fails with is to be seen where it failed.
func judged(s *projections.Service, ordinal uint32) bool {
	op := s.Operation
	return op != nil && (op.Kind.Together() || slices.Contains(op.Slots, ordinal))
}

// backsOff reports whether it is too early for the slot's next instance, as the one before used up its restarts.
func (t *Turn) backsOff(s *projections.Service, ordinal uint32) bool {
	return t.Now.Before(s.RetryAt(ordinal))
}

// crashedDue has every service be looked at of which a slot has waited long enough since its last instance used up its restarts.
func (t *Turn) crashedDue() {
	for id := range t.Cluster.Crashed() {
		s := t.Cluster.Services[id]
		if !t.atService(events.WorkDue, id) {
			continue
		}
		for o, slot := range s.Slots {
			if at := s.RetryAt(uint32(o)); slot.Current == nil && !at.IsZero() && !t.Now.Before(at) {
				t.agenda.add(id)
				break
			}
		}
	}
}
