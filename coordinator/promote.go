package coordinator

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// promote has an update go on after its canaries. Saying it once more changes nothing.
func promote(s *projections.Service) ([]events.Data, error) {
	op := s.Operation
	if op == nil || op.Phase != events.OperationPromote || op.Paused != "" {
		return nil, events.Reject(events.CodeInvalidValue, "subject",
			"service %s has no canaries that wait for their promotion: rookery ps says what it does", s.ID)
	}
	if op.Promoted {
		return nil, nil
	}
	return []events.Data{events.OperationPromoted{Operation: op.Started}}, nil
}
