package rookerytest_test

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// serviceFaults are faults of the services themselves.
func serviceFaults() []fault {
	return []fault{
		{name: "more memory taken than the limit", expected: "said to be out of memory; beside it all goes on", inject: func(s *scene) {
			s.breaks("demo/greedy", `,"args":["-eat","64"],"resources":{"memory":"16MiB"}`, string(events.OfflineOOMKilled))
		}},
		{name: "crash loop", expected: "said with the exit code; beside it all goes on", inject: func(s *scene) {
			s.breaks("demo/crashes", `,"args":["-exit-code","3"]`, `"exit_code":3`)
			s.hears("service.demo.crashes.instance.offline", `"attempt":2`)
		}},
		{name: "SIGTERM ignored", expected: "killed after its grace", inject: func(s *scene) {
			s.runs("demo/deaf", `,"args":["-ignore-term"]`)
			pid := s.container("demo/deaf").PID
			began := time.Now()
			s.command("demo/deaf", "scale", scaleBody(0))
			s.ended(pid)
			s.saw("ended %.1f s after the order", time.Since(began).Seconds())
		}},
		{name: "health check that fails", expected: "said to be unhealthy; beside it all goes on", inject: func(s *scene) {
			s.breaks("demo/sick", `,"ports":[{"name":"http","port":8080}],"health":{"http":{"port":"http","path":"/none"},`+
				`"interval":"1s","retries":1,"start_period":"0s"},"args":["-listen",":8081"]`, string(events.OfflineUnhealthy))
		}},
	}
}

// breaks makes the host run a service that never serves, until the end of the fault.
func (s *scene) breaks(service, fields, says string) {
	s.heals(func() { s.command(service, "drop", `{}`) })
	s.ensures(service, fields)
	id, err := events.ParseServiceID(service)
	if err != nil {
		s.fail("%v", err)
	}
	s.hears("service."+id.Namespace+"."+id.Name+".instance.offline", says)
}

// doubleFaults are two faults at once.
func doubleFaults() []fault {
	return []fault{
		{name: "leader and a node killed", expected: "the other leads; the node adopts", check: adopted, inject: func(s *scene) {
			s.remembers()
			c, _ := s.leader()
			s.endsCoordinator(c)
			s.endsNode(s.host)
			s.takenOver(c)
		}},
		{name: "node killed while cut off", expected: "its containers stay and are adopted", check: adopted, inject: func(s *scene) {
			s.silenced(func() {
				s.drops(s.host.host, "INPUT", "--in-interface", "eth0")
				s.endsNode(s.host)
			})
		}},
		{name: "node cut off and Podman's service killed", expected: "its containers stay", check: adopted, inject: func(s *scene) {
			s.silenced(func() {
				s.drops(s.host.host, "OUTPUT", "--out-interface", "eth0")
				s.endsService(s.host)
			})
		}},
		{name: "node and Podman's service killed", expected: "its containers stay and are adopted", check: adopted, inject: func(s *scene) {
			s.remembers()
			// The service is started first again: a node that begins without its Podman ends, and only a unit starts it once more.
			s.endsNode(s.host)
			s.endsService(s.host)
		}},
		{name: "NATS server and a node killed", expected: "both go on from what they have", inject: func(s *scene) {
			busKilled(s)
			s.endsNode(s.host)
		}},
		{name: "NATS server and the leader killed", expected: "one leads; all is known", inject: func(s *scene) {
			c, _ := s.leader()
			busKilled(s)
			s.endsCoordinator(c)
		}},
		{name: "leader cut off while another host reboots", expected: "the other leads; what ran runs again", inject: func(s *scene) {
			c, _ := s.leader()
			s.dropsBus(c.host, c.link)
			hostReboots(s)
			s.takenOver(c)
		}},
		{name: "two hosts reboot at once", expected: "what they ran runs again", inject: func(s *scene) {
			hostReboots(s)
			s.host, s.beside = s.beside, s.host
			hostReboots(s)
		}},
		{name: "container killed while its node is cut off", expected: "started again, and told after it", inject: func(s *scene) {
			s.runs("demo/probe", probe)
			pid := s.container("demo/probe").PID
			s.silenced(func() { s.dropsBus(s.host.host, s.host.link) })
			s.signal(pid, 9)
			s.ended(pid)
		}},
	}
}
