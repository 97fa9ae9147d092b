package coordinator

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// promote lets an update continue after its canaries. A second promotion changes nothing.
func promote(s *projections.Service) ([]events.Data, error) {
	op := s.Operation
	if op == nil || op.Phase != events.OperationPromote || op.Paused != "" {
		return nil, events.Reject(events.CodeInvalidValue, "subject",
			"no canary of service %s waits for a promotion: see its state with rookery ps", s.ID)
	}
	if op.Promoted {
		return nil, nil
	}
	return []events.Data{events.OperationPromoted{Operation: op.Started}}, nil
}
