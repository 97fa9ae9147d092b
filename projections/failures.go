package projections

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// A node on which a revision fails manyFailures times within failuresWithin is the last choice for another instance of the revision.
const (
	manyFailures   = 5
	failuresWithin = 5 * time.Minute
)

// Failures are the times at which instances of the current revision last failed on one node, oldest first; manyFailures at most.
type Failures []time.Time

// FailingUntil returns until when the current revision counts as failing on the node; the zero time where it does not.
func (s *Service) FailingUntil(node string) time.Time {
	f := s.Failures[node]
	if len(f) < manyFailures {
		return time.Time{}
	}
	return f[0].Add(failuresWithin)
}

// noteFailure counts an instance of the current revision that went offline, unless it exited with code 0.
func (s *Service) noteFailure(i *Instance, d events.InstanceSeen, now time.Time) {
	if !s.UpToDate(i) || i.Retired() != "" || (d.ExitCode != nil && *d.ExitCode == 0) {
		return
	}
	if s.Failures == nil {
		s.Failures = map[string]Failures{}
	}
	before := s.Failures[i.Node]
	s.Failures[i.Node] = append(before[max(0, len(before)-manyFailures+1):], now)
}
