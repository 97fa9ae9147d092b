package rookerytest_test

import (
	"fmt"
	"strings"

	"github.com/rookery-project/rookery/events"
)

// topologyRows are the topology of a spec, and what its instances are asked as that changes.
func topologyRows() []specRow {
	// An instance gets hooks once it is healthy: before that its process may not listen.
	const listens = `"health":{"http":{"port":"http","path":"/"},"interval":"1s"},"ports":[{"name":"http","port":8080}],"update":{"min_healthy":"0s"}`
	hooks := func(release, acquire string) string {
		return listens + fmt.Sprintf(`,"topology":{},"hooks":{"release":%s,"acquire":%s}`, release, acquire)
	}
	confirmed := func(s *seen) {
		s.online()
		s.Command(s.service, "scale", `{"scale":2}`)
		for _, phase := range []events.OperationPhase{events.OperationRelease, events.OperationRelease, events.OperationAcquire, events.OperationAcquire} {
			s.want("what is confirmed", string(event[events.InstanceConfirmed](s).Phase), string(phase))
		}
	}
	return []specRow{
		{"topology", `"topology":{"path":"/etc/topology"},"ports":[{"name":"http","port":8080}],"update":{"min_healthy":"0s"}`, func(s *seen) {
			s.online()
			file := "root/etc/topology/" + events.TopologyFile
			for _, part := range []string{`"name":"topology"`, `"ordinal":0`, `"config_version":1`, `"scale":1`, `"peers":[{"ordinal":0,"host":`, `"ports":{"http":`} {
				s.wantIn("the file", s.proc(file), part)
			}
			if err := s.write("etc/topology/other", ""); err == nil {
				s.Error("the instance can write beside its topology")
			}
			s.Command(s.service, "scale", `{"scale":2}`)
			s.Until("the file has the next topology", func() bool {
				text := s.proc(file)
				return strings.Contains(text, `"config_version":2,"scale":2,"peers":[{"ordinal":0`) && strings.Contains(text, `{"ordinal":1`)
			})
		}},
		{"hooks exec", hooks(`{"exec":["/web","-env","ROOKERY_PHASE=release"]}`, `{"exec":["/web","-env","ROOKERY_PHASE=acquire ROOKERY_CONFIG_VERSION=2"]}`), confirmed},
		{"hooks http", hooks(`{"http":{"port":"http","path":"/release"}}`, `{"http":{"port":"http","path":"/acquire"}}`), confirmed},
		{"hooks signal", hooks(`{"signal":"SIGWINCH"}`, `{"signal":"SIGWINCH"}`), confirmed},
		{"hooks that refuse", hooks(`{"exec":["/web","-env","NEVER=1"]}`, `{"exec":["/web"]}`), func(s *seen) {
			s.online()
			if outcome := s.Outcome(s.Publish(s.service, "scale", `{"scale":2}`)); outcome.Reason != events.ReasonAborted {
				s.Errorf("the rescale ended as %+v, want %s", outcome, events.ReasonAborted)
			}
			s.want("why it is refused", event[events.InstanceRefused](s).Refused, "its release hook: /web ended with exit code 1")
			s.want("the outcome", string(event[events.OperationEnded](s).Outcome), string(events.OperationAborted))
		}},
	}
}
