package rookerytest_test

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// probe has every feature that leaves something behind if the making of its container is interrupted.
const probe = `,"scale":1,"volumes":[{"name":"data","path":"/data"}],"configs":[{"name":"greeting","path":"/etc/greeting"}],` +
	`"ports":[{"name":"http","port":8080}]`

// podmanFaults are faults of the Podman of a host, and of its storage.
func podmanFaults() []fault {
	return []fault{
		{name: "Podman's service killed inside create", expected: "made once, nothing left over", inject: func(s *scene) {
			s.killedInside("POST", "/containers/create", 3*time.Millisecond, func() { s.ensures("demo/probe", probe) })
		}},
		{name: "Podman's service killed inside start", expected: "runs once", inject: func(s *scene) {
			s.killedInside("POST", "/start", 30*time.Millisecond, func() { s.ensures("demo/probe", probe) })
		}},
		{name: "Podman's service killed inside stop", expected: "stopped and gone", inject: func(s *scene) {
			s.runs("demo/probe", probe+`,"args":["-ignore-term"]`)
			s.killedInside("POST", "/stop", 300*time.Millisecond, func() { s.command("demo/probe", "scale", scaleBody(0)) })
		}},
		{name: "Podman's service killed inside remove", expected: "gone", inject: func(s *scene) {
			s.runs("demo/probe", probe)
			s.killedInside("DELETE", "/containers/", 30*time.Millisecond, func() { s.command("demo/probe", "scale", scaleBody(0)) })
		}},
		{name: "Podman's service killed", expected: "its containers stay", check: adopted, inject: func(s *scene) {
			s.remembers()
			s.endsService(s.host)
			s.work()
		}},
		{name: "Podman's service hung", expected: "what waits for it is done after it", inject: func(s *scene) {
			pid := podmantest.ServicePID(s.t, s.host.uri)
			called := s.calls("POST", "/containers/create", func() { s.signal(pid, syscall.SIGSTOP) })
			s.heals(func() { s.signal(pid, syscall.SIGCONT) })
			s.ensures("demo/probe", probe)
			s.until("it is asked to create", called)
			s.saw("it hangs in create")
		}},
		{name: "container's process killed", expected: "started again", inject: func(s *scene) {
			s.runs("demo/probe", probe)
			s.signal(s.container("demo/probe").PID, syscall.SIGKILL)
			s.hears("service.demo.probe.instance.offline", string(events.OfflineExited))
		}},
		{name: "conmon killed", expected: "one live copy", inject: func(s *scene) {
			s.runs("demo/probe", probe)
			s.killsMonitor(s.container("demo/probe").ID)
		}},
		{name: "conmon and the container's process killed", expected: "started again", inject: func(s *scene) {
			s.runs("demo/probe", probe)
			c := s.container("demo/probe")
			s.killsMonitor(c.ID)
			s.signal(c.PID, syscall.SIGKILL)
			s.hears("service.demo.probe.instance.offline", string(events.OfflineExited))
		}},
		{name: "container stopped by hand", expected: "started again", inject: func(s *scene) {
			s.runs("demo/probe", probe)
			s.podman(s.host, "stop", "--time", "1", s.container("demo/probe").ID)
			s.hears("service.demo.probe.instance.offline", string(events.OfflineExited))
		}},
		{name: "container removed by hand", expected: "made again", inject: func(s *scene) {
			s.runs("demo/probe", probe)
			s.podman(s.host, "rm", "--force", "--time", "0", s.container("demo/probe").ID)
			s.hears("service.demo.probe.instance.offline", "")
		}},
		{name: "container removed by hand while its node is stopped", expected: "made again", inject: func(s *scene) {
			s.runs("demo/probe", probe)
			s.rests(s.host)
			s.podman(s.host, "rm", "--force", "--time", "0", s.container("demo/probe").ID)
		}},
		{name: "ports taken by a foreign process", expected: "said; made once one is free", inject: portsTaken},
		{name: "name taken by a foreign container", expected: "said; the foreign one is not touched", inject: nameTaken},
		{name: "storage full", expected: "said; made once there is room", inject: storageFull},
		{name: "foreign containers beside ours", expected: "never touched", inject: foreignBeside},
	}
}

// calls runs do as soon as the node of the host has made such a call of its Podman. The function that it returns reports whether do has
// run.
func (s *scene) calls(method, path string, do func()) func() bool {
	done := make(chan struct{})
	find := method + " /v4.0.0/libpod" + path
	if method == "POST" && path != "/containers/create" {
		find = path // behind the container's name
	}
	s.host.engine.once(find, func() {
		do()
		close(done)
	})
	return func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
}

// killedInside kills the service of the host's Podman so long after the node has made such a call.
func (s *scene) killedInside(method, path string, after time.Duration, caused func()) {
	pid := podmantest.ServicePID(s.t, s.host.uri)
	killed := s.calls(method, path, func() {
		<-time.After(after) // into the middle of what it does
		_ = syscall.Kill(pid, syscall.SIGKILL)
	})
	s.heals(func() { s.serves(s.host) })
	caused()
	s.until("the node calls "+method+" "+path, killed)
	s.ended(pid)
	s.saw("killed %s after the call, Podman has %s", after, s.states("probe"))
}

// states returns what Podman says of the containers with the name of a container of the service. It does not need the service of Podman.
func (s *scene) states(service string) string {
	all := strings.Fields(s.podman(s.host, "ps", "--all", "--external", "--filter", "name="+service, "--format", "{{.State}}"))
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, " ")
}

// killsMonitor kills conmon of a container.
func (s *scene) killsMonitor(id string) {
	pids := s.host.own(monitors())[id]
	if len(pids) != 1 {
		s.fail("container %.12s has the monitors %v", id, pids)
	}
	s.signal(pids[0], syscall.SIGKILL)
	s.ended(pids[0])
	s.saw("its monitor is gone")
}

// rests stops the host's node until the fault's end.
func (s *scene) rests(h *station) {
	s.heals(func() { h.node.signal(syscall.SIGCONT) })
	h.node.signal(syscall.SIGSTOP)
}

// portsTaken takes every free port of the range of the host.
func portsTaken(s *scene) {
	var taken []net.Listener
	s.heals(func() {
		for _, l := range taken {
			_ = l.Close()
		}
	})
	for port := firstPort; port <= lastPort; port++ {
		if l, err := s.host.listen(fmt.Sprintf("%s:%d", s.host.address, port)); err == nil {
			taken = append(taken, l)
		}
	}
	s.saw("%d ports taken", len(taken))
	s.ensures("demo/probe", probe)
	s.hears("service.demo.probe.instance.offline", string(events.OfflinePortConflict))
}

// nameTaken creates a foreign container under the name of one of ours while the node is stopped.
func nameTaken(s *scene) {
	s.runs("demo/probe", probe)
	c := s.container("demo/probe")
	s.host.node.signal(syscall.SIGSTOP)
	resumes := func() { s.host.node.signal(syscall.SIGCONT) }
	s.heals(resumes)
	s.podman(s.host, "rm", "--force", "--time", "0", c.ID)
	foreign := s.podman(s.host, "create", "--name", c.Names[0], podmantest.WebReference)
	s.heals(func() {
		s.podman(s.host, "inspect", foreign) // it must be there still
		s.podman(s.host, "rm", foreign)
	})
	resumes()
	s.hears("service.demo.probe.instance.offline", "is not ours")
}

// storageFull fills the disk that a host's Podman has for itself.
func storageFull(s *scene) {
	for _, h := range s.hosts {
		if h.disk != "" {
			s.host = h
		}
	}
	ballast := s.host.disk + "/ballast"
	s.heals(func() { s.run("rm", "-f", ballast) })
	fill(s.t, ballast)
	s.ensures("demo/probe", probe)
	s.hears("service.demo.probe.instance.offline", "no space left")
}

// foreignBeside runs containers that are not ours, one of them with labels of another cluster's.
func foreignBeside(s *scene) {
	const twice = 2
	var names []string
	s.heals(func() {
		for _, name := range names {
			if state := s.podman(s.host, "inspect", "--format", "{{.State.Status}}", name); state != "running" {
				s.fail("the foreign container %s is %s", name, state)
			}
			s.podman(s.host, "rm", "--force", "--time", "0", name)
		}
		s.saw("both ran to the end")
	})
	for i := range twice {
		words := []string{"run", "--detach", "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"}
		if i > 0 {
			words = append(words, "--label", node.LabelCluster+"=other", "--label", node.LabelNode+"="+s.host.name)
		}
		names = append(names, strings.Fields(s.podman(s.host, append(words, podmantest.WebReference)...))[0])
	}
	s.runs("demo/probe", probe)
	s.command("demo/probe", "restart", `{}`)
}
