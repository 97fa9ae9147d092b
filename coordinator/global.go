package coordinator

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// follow has a global service have an instance for each node that shall have one, and none on another. It reports false
// where the round is full before that.
func (t *Turn) follow(s *projections.Service) bool {
	if !s.Current().Spec.Global() || s.Suspension != nil {
		return true
	}
	for _, slot := range s.Slots {
		if i := slot.Current; i != nil && !t.agenda.board.Belongs(s, i) && !t.retire(i, events.RetireUnmatched) {
			return false
		}
	}
	scale := t.agenda.board.Reach(s)
	if scale == s.Scale {
		return true
	}
	if t.Room() == 0 {
		return false
	}
	t.emit(events.ServiceScope(s.ID), events.ServiceScaled{Scale: scale})
	return true
}
