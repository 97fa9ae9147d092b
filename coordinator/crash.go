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

// judged reports whether the service's operation watches this slot now. The operation then decides whether the slot is healthy,
// and a failed instance stays where it is, so that the operator can see why it failed.
func judged(s *projections.Service, ordinal uint32) bool {
	op := s.Operation
	return op != nil && (op.Kind.Together() || slices.Contains(op.Slots, ordinal))
}

// backsOff reports whether it is too early for the slot's next instance, because the last one used up its restarts.
func (t *Turn) backsOff(s *projections.Service, ordinal uint32) bool {
	return t.Now.Before(s.RetryAt(ordinal))
}

// crashedDue queues every service with an empty slot whose back-off is over. The back-off begins when the slot's last instance
// has used up its restarts.
func (t *Turn) crashedDue() {
	for id := range t.Cluster.Crashed() {
		s := t.Cluster.Services[id]
		if !t.atService(events.WorkDue, id) {
			continue
		}
		for o, slot := range s.Slots {
			if at := s.RetryAt(uint32(o)); slot.Current == nil && !at.IsZero() && !t.Now.Before(at) {
				t.work.add(id)
				break
			}
		}
	}
}
