package coordinator

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// follow keeps one instance of a global service on each node that its spec selects, and no instance on another node.
func (t *Turn) follow(s *projections.Service) {
	if !s.Current().Spec.Global() || s.Suspension != nil {
		return
	}
	for _, slot := range s.Slots {
		if i := slot.Current; i != nil && !t.work.board.Belongs(s, i) {
			t.retire(i, events.RetireUnmatched)
		}
	}
	if scale := t.work.board.Reach(s); scale != s.Scale {
		t.emit(events.ServiceScope(s.ID), events.ServiceScaled{Scale: scale})
	}
}
