package rookerytest_test

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// suspendRows are services that rest and come back, with what they held.
func suspendRows() []specRow {
	const state = `"volumes":[{"name":"data","path":"/data","state":true}]`
	return []specRow{
		{"suspended and resumed", state, func(s *seen) {
			s.online()
			s.must(s.write("data/shard", "what the shard holds"))
			s.Command(s.service, "suspend", `{}`)
			for id := range s.running() {
				if id.Service.String() == s.service {
					s.Errorf("%s runs, and its service is suspended", id)
				}
			}
			if outcome := s.Outcome(s.Publish(s.service, "restart", `{}`)); outcome.Outcome != projections.Rejected || outcome.Rejection.Code != events.CodeSuspended {
				s.Errorf("a restart of it ended as %+v, want %s", outcome, events.CodeSuspended)
			}
			s.Command(s.service, "resume", `{}`)
			s.back()
			s.want("the shard", s.proc("root/data/shard"), "what the shard holds")
		}},
		{"resumed from a snapshot", state + `,"topology":{}`, func(s *seen) {
			s.online()
			s.must(s.write("data/shard", "one"))
			s.snapshot()
			s.must(s.write("data/shard", "two"))
			s.must(s.write("data/later", "came later"))
			s.Command(s.service, "suspend", `{}`)
			s.Command(s.service, "resume", `{"snapshot":1}`)
			s.back()
			s.want("the shard", s.proc("root/data/shard"), "one")
			s.wantIn("what it is told", s.proc("root/run/rookery/topology.json"), `"snapshot":1`)
			s.must(s.write("data/shard", "three"))
			s.Command(s.service, "restart", `{}`)
			s.back()
			s.want("the shard of the next generation", s.proc("root/data/shard"), "three")
		}},
		{"suspended in vain", state + `,"hooks":{"snapshot":{"exec":["/web","-env","NEVER=1"]}}`, func(s *seen) {
			before := s.online()
			if outcome := s.Outcome(s.Publish(s.service, "suspend", `{}`)); outcome.Reason != events.ReasonSuspendFailed {
				s.Errorf("the suspension ended as %+v, want %s", outcome, events.ReasonSuspendFailed)
			}
			if now := s.container(); now.Handle != before.Handle {
				s.Errorf("the container is %+v, and was %+v", now, before)
			}
		}},
	}
}

// back finds the container of a service that has come back, which must be the next generation's.
func (s *seen) back() {
	s.Helper()
	found := s.container()
	if before := s.found.Instance.Generation; found.Instance.Generation != before+1 {
		s.Errorf("%s has come back, want generation %d", found.Instance, before+1)
	}
	s.found = &found
}
