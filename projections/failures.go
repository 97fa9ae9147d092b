package projections

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// A node on which a revision has failed manyFailures times within failuresWithin is the last to get another instance of it.
const (
	manyFailures   = 5
	failuresWithin = 5 * time.Minute
)

// Failures are when instances of the current revision failed last on one node, oldest first; manyFailures at most.
type Failures []time.Time

// FailingUntil returns until when the node is one on which the current revision fails; the zero time where it is none.
func (s *Service) FailingUntil(node string) time.Time {
	f := s.Failures[node]
	if len(f) < manyFailures {
		return time.Time{}
	}
	return f[0].Add(failuresWithin)
}

// noteFailure counts an instance of the current revision that went offline, unless it ended well.
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
