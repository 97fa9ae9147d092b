package coordinator

import (
	"errors"
	"fmt"

	"github.com/rookery-project/rookery/coordinator/operation"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// suspend suspends the service.
func suspend(s *projections.Service) ([]events.Data, error) {
	switch op := s.Operation; {
	case s.Dropped:
		return nil, gone(s)
	case s.Job != nil:
		return nil, events.Reject(events.CodeInvalidValue, "subject",
			"service %s is a job, which ends by itself and cannot be suspended: end it early with drop", s.ID)
	case s.Suspension != nil:
		return nil, nil
	case op != nil && op.Paused != "":
		return nil, events.Reject(events.CodeInvalidValue, "subject",
			"the %s of service %s is paused, and suspend must wait until it ends: send its spec again to continue, or roll it back", op.Kind, s.ID)
	}
	return []events.Data{events.ServiceSuspended{}}, nil
}

// resume starts the service again, with its present state or from a snapshot.
func (t *Turn) resume(s *projections.Service, c events.ServiceResume) ([]events.Data, error) {
	switch {
	case s.Dropped:
		return nil, gone(s)
	case c.Snapshot == 0 && s.Suspension == nil:
		return nil, nil
	case c.Snapshot == 0:
		return []events.Data{events.ServiceResumed{}}, nil
	case !s.Suspended() || s.Filled() > 0:
		return nil, events.Reject(events.CodeInvalidValue, "snapshot",
			"service %s has instances, and a snapshot fills volumes only before they run: "+
				"suspend it, then resume it from the snapshot; if its instances cannot run, scale it to 0 first", s.ID)
	}
	kept := s.Snapshots.Find(c.Snapshot)
	if kept == nil {
		return nil, events.Reject(events.CodeNotFound, "snapshot", "service %s has no snapshot %d: %s", s.ID, c.Snapshot, keptOf(s))
	}
	if s.Current().Spec.Global() {
		return nil, events.Reject(events.CodeInvalidValue, "snapshot",
			"service %s is now global, and its snapshots are of a replicated service: resume it without a snapshot", s.ID)
	}
	if err := s.Current().Spec.CheckScale(kept.Scale); err != nil {
		return nil, err
	}
	return append(operation.Scaled(t.Cluster, s, &s.Current().Spec, kept.Scale), events.ServiceResumed{Snapshot: c.Snapshot}), nil
}

// keptOf describes for the operator which snapshots of the service exist.
func keptOf(s *projections.Service) string {
	var versions []uint64
	for _, kept := range s.Snapshots.Kept {
		versions = append(versions, kept.Version)
	}
	if len(versions) == 0 {
		return "none is kept"
	}
	return fmt.Sprintf("kept are %v", versions)
}

// whileSuspended returns an error if the service does not take the command because it is suspended or about to be; nil if it
// takes it.
func whileSuspended(s *projections.Service, command events.Command) error {
	if s == nil || s.Suspension == nil || s.Dropped || verbs[command.Kind()].suspended {
		return nil
	}
	return events.Reject(events.CodeSuspended, "subject",
		"service %s is suspended, and takes no %s: resume it first with rookery resume %s", s.ID, command.Kind().Name, s.ID)
}

// mayComeLater reports whether a command that the service rejects during its suspension becomes possible once the command that
// holds it has ended.
func mayComeLater(s *projections.Service, command events.Command, err error) bool {
	var why *events.Rejection
	if s == nil || s.Suspension == nil || s.Holder == 0 || guard(command).Busy == events.BusySupersede || !errors.As(err, &why) {
		return false
	}
	return why.Code == events.CodeSuspended || why.Field == "snapshot"
}
