package rookerytest_test

import (
	"strings"
	"syscall"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

func disconnectRows() []specRow {
	return []specRow{
		{"disconnect", `"disconnect":{"lost_after":"1s","reconcile":"keep-original"},"restart":{"policy":"never"}`, func(s *seen) {
			ask(s.T, s.Cluster, "rookery.cmd.cluster.policy", `{"liveness":{"max_silent":1}}`)
			defer ask(s.T, s.Cluster, "rookery.cmd.cluster.policy", `{}`)
			before := s.online()
			s.node.signal(syscall.SIGSTOP)
			event[events.InstanceLost](s)
			s.Until("the view says that it is lost", func() bool {
				shown := runNATS(s.T, s.Cluster, "kv", "get", "--raw", bus.BucketInstances, "demo.disconnect.0")
				return strings.Contains(shown, `"status":"lost"`) &&
					strings.Contains(shown, `"message":"lost connection to edge; it has no replacement: of 1 nodes 1 silent"`)
			})
			s.node.signal(syscall.SIGCONT)
			event[events.InstanceReturned](s)
			if now := s.container(); now.Handle != before.Handle {
				s.Errorf("the container was %+v and is %+v", before, now)
			}
		}},
	}
}
