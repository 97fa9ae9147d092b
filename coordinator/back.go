package coordinator

import (
	"maps"
	"slices"
	"strings"

	"github.com/rookery-project/rookery/coordinator/operation"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// restart replaces every instance by one of the same spec and images.
func restart(s *projections.Service) ([]events.Data, error) {
	if s.Dropped {
		return nil, gone(s)
	}
	again := operation.Repeat(s, s.Revision)
	again.Keeps = nil
	return []events.Data{again}, nil
}

// rollback returns the service to an earlier revision.
func (t *Turn) rollback(s *projections.Service, c events.ServiceRollback) ([]events.Data, error) {
	if s.Dropped {
		return nil, gone(s)
	}
	to := c.To
	if to == 0 {
		to = before(s)
	}
	if to == s.Revision {
		return nil, nil
	}
	if to == 0 {
		return nil, events.Reject(events.CodeNotFound, "to",
			"service %s never had another spec, so rollback has no target: send the wanted spec with ensure", s.ID)
	}
	if s.Revisions[to] == nil {
		return nil, events.Reject(events.CodeNotFound, "to", "service %s has no revision %d to go back to: there are %s", s.ID, to,
			revisionsOf(s))
	}
	if r := s.Revisions[to]; r.Spec.IsJob() {
		return append([]events.Data{operation.Repeat(s, to)}, operation.Scaled(t.Cluster, s, &r.Spec, r.Spec.Jobs().Completions)...), nil
	}
	if err := s.Revisions[to].Spec.CheckScale(s.Scale); err != nil {
		return nil, err
	}
	return []events.Data{operation.Repeat(s, to)}, nil
}

// revisionsOf lists the revisions of the service.
func revisionsOf(s *projections.Service) string {
	var words []string
	for _, n := range slices.Sorted(maps.Keys(s.Revisions)) {
		words = append(words, utoa(n))
	}
	return strings.Join(words, ", ")
}

// before returns the last revision that differs from the present one; 0 if there is none.
func before(s *projections.Service) uint64 {
	alike := s.Alike(s.Revision)
	for n := s.Revision; n > 0; n-- {
		if s.Revisions[n] != nil && !slices.Contains(alike, n) {
			return n
		}
	}
	return 0
}

// cancel cancels a snapshot that was asked for, or a suspension that is not complete. If neither is under way, it returns the
// service to its last healthy revision and scale.
func (t *Turn) cancel(s *projections.Service, _ events.ServiceCancel) ([]events.Data, error) {
	switch {
	case s.Suspension != nil && s.Settled():
		return nil, nil
	case s.Suspension != nil:
		return []events.Data{events.ServiceResumed{}}, nil
	case s.Snapshots.Wanted == 0:
		return t.wasGood(s)
	}
	takes := s.Operation != nil && s.Operation.Kind == events.OperationSnapshot && !t.caseOf(s).Superseded()
	if takes || s.HoldsSnapshot(t.Cluster) {
		return []events.Data{events.SnapshotCancelled{}}, nil
	}
	changes, err := t.wasGood(s)
	if err != nil {
		return nil, err
	}
	return append([]events.Data{events.SnapshotCancelled{}}, changes...), nil
}

// wasGood returns the service to its last healthy revision and scale. It drops a service that never was healthy.
func (t *Turn) wasGood(s *projections.Service) ([]events.Data, error) {
	if s.Job != nil {
		return nil, events.Reject(events.CodeInvalidValue, "subject",
			"service %s is a job, which cannot go back: end it with drop, or run it again with ensure", s.ID)
	}
	if s.Good == nil {
		return drop(s), nil
	}
	return operation.GoBack(t.Cluster, s, s.Good.Revision, s.Good.Scale), nil
}

// replacesNothing reports whether the next spec replaces no instance: it differs from the present one only in how Rookery
// replaces instances or when it takes snapshots.
func replacesNothing(s *projections.Service, next events.Spec) bool {
	present := s.Current().Spec
	present.Update, next.Update = nil, nil
	present.Snapshot, next.Snapshot = nil, nil
	return !s.Dropped && !next.IsJob() && present.Hash() == next.Hash()
}

// stays returns, in order, the revisions whose instances already are as the present revision says.
func stays(s *projections.Service) []uint64 {
	all := append(s.Alike(s.Revision), s.Current().Keeps...)
	slices.Sort(all)
	return slices.Compact(all)
}
