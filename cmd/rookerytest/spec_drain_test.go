package rookerytest_test

import (
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

func drainRows() []specRow {
	const delay = 5 * time.Second
	return []specRow{
		{"drain_delay", `"drain_delay":"5s","ports":[{"name":"http","port":8080}]`, func(s *seen) {
			port := s.online().Ports[0].HostPort
			s.Publish(s.service, "scale", `{"scale":0}`)
			event[events.InstanceRetired](s)
			retired := s.at
			s.Until("its endpoint is withdrawn", func() bool {
				return strings.Contains(runNATS(s.T, s.Cluster, "kv", "get", "--raw", bus.BucketEndpoints, "demo.drain-delay.http"), `"addresses":[]`)
			})
			s.visit(port) // clients that have not heard of that are still served
			event[events.InstanceStopped](s)
			if served := s.at.Sub(retired); served < delay {
				s.Errorf("it was stopped %s after it was retired, want %s", served, delay)
			}
		}},
	}
}
