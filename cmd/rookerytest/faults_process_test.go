package rookerytest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// processFaults kill or stop processes of Rookery.
func processFaults() []fault {
	return []fault{
		{name: "node killed", expected: "its containers stay and are adopted", inject: nodeKilled, check: adopted},
		{name: "node stopped beyond the time-out", expected: "silent, then heard again; its containers stay", inject: nodeStopped, check: adopted},
		{name: "node's unit stopped and upgraded", expected: "its containers stay, as the same processes", inject: nodeUpgraded, check: adopted},
		{name: "host reboots", expected: "what it ran runs again", inject: hostReboots},
		{name: "leader killed", expected: "the other leads", inject: leaderKilled},
		{name: "leader stopped beyond its lease", expected: "the other leads; the stalled one harms nothing", inject: leaderStopped},
		{name: "standby killed", expected: "nothing changes", inject: func(s *scene) {
			_, c := s.leader()
			s.endsCoordinator(c)
		}},
		{name: "both coordinators killed", expected: "what was asked meanwhile is done after it", inject: func(s *scene) {
			for _, c := range s.coordinators {
				s.endsCoordinator(c)
			}
		}},
		{name: "NATS server killed", expected: "it goes on from its disk", inject: busKilled},
		{name: "NATS server stopped for longer than a lease", expected: "all go on with it", inject: busStopped},
	}
}

// endsNode ends the host's node with SIGKILL until the fault is healed.
func (s *scene) endsNode(h *station) {
	s.heals(func() { s.startNode(h) })
	h.node.kill()
	s.saw("%s's node is gone", h.name)
}

func (s *scene) endsCoordinator(c *seat) {
	s.heals(func() { s.startCoordinator(c) })
	c.process.kill()
	s.saw("%s is gone", c.name)
}

// remembers notes what runs on the host, which is something.
func (s *scene) remembers() {
	if s.pids = s.steady(s.host); len(s.pids) == 0 {
		s.runs("demo/probe", probe)
		s.pids = s.steady(s.host)
	}
}

func adopted(s *scene) { s.stays(s.pids, s.processes(s.host)) }

func nodeKilled(s *scene) {
	s.remembers()
	s.endsNode(s.host)
}

func nodeStopped(s *scene) {
	s.remembers()
	s.heals(func() { s.host.node.signal(syscall.SIGCONT) })
	s.host.node.signal(syscall.SIGSTOP)
	s.hears("node."+s.host.name+".silent", "")
}

// nodeUpgraded ends the node as a unit of the system is ended, and starts another program in its place.
func nodeUpgraded(s *scene) {
	s.remembers()
	s.heals(func() { s.startNode(s.host) })
	s.host.node.signal(syscall.SIGTERM)
	<-s.host.node.ended
	path := filepath.Join(s.t.TempDir(), "rookery")
	text, err := os.ReadFile(s.host.path)
	if err == nil {
		err = os.WriteFile(path, text, 0o700) //nolint:gosec // a program
	}
	if err != nil {
		s.fail("%v", err)
	}
	s.host.path = path
	s.stays(s.pids, s.processes(s.host))
}

// hostReboots ends everything that runs on the host at once, and clears what a machine loses in a reboot.
func hostReboots(s *scene) {
	h := s.host
	running := s.processes(h)
	namespaces := s.sandboxes(h, running)
	s.heals(func() {
		s.serves(h)
		s.startNode(h)
	})
	h.node.kill()
	pids := []int{podmantest.ServicePID(s.t, h.uri)}
	for _, all := range h.own(monitors()) {
		pids = append(pids, all...)
	}
	for _, pid := range running {
		pids = append(pids, pid)
	}
	for _, pid := range pids {
		s.signal(pid, syscall.SIGKILL)
	}
	for _, pid := range pids {
		s.ended(pid)
	}
	s.clears(h, namespaces)
	s.saw("%d processes ended, the run directory cleared", len(pids)+1)
}

// sandboxes returns the network namespaces of the containers.
func (s *scene) sandboxes(h *station, running map[string]int) []string {
	var all []string
	for id := range running {
		var c struct {
			NetworkSettings struct{ SandboxKey string }
		}
		if err := h.ask("/containers/"+id+"/json", &c); err != nil {
			s.fail("%v", err)
		}
		if key := c.NetworkSettings.SandboxKey; key != "" {
			all = append(all, key)
		}
	}
	return all
}

// clears clears what is in memory alone: mounts, run directories, networks and their rules.
func (s *scene) clears(h *station, namespaces []string) {
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		s.fail("%v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(mounts)), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if where := strings.Fields(lines[i])[1]; strings.HasPrefix(where, h.folder()+"/") {
			s.run("umount", "-l", where)
		}
	}
	for _, path := range namespaces {
		s.run("umount", "-l", path)
		s.run("rm", "-f", path)
	}
	for _, folder := range []string{"run", "tmp"} {
		s.run("sh", "-c", fmt.Sprintf("rm -rf %s/%s/*", h.folder(), folder))
	}
	for _, table := range []string{"nat", "filter"} {
		s.in(h.host, "iptables", "--wait", "--table", table, "--flush")
		s.in(h.host, "iptables", "--wait", "--table", table, "--delete-chain")
	}
	number, err := os.ReadFile(h.folder() + "/number")
	if err != nil {
		s.fail("%v", err)
	}
	bridge := "rkbr" + strings.TrimSpace(string(number))
	s.in(h.host, "ip", "link", "delete", bridge+".0")
	s.in(h.host, "ip", "link", "delete", bridge)
}

// takenOver waits until another coordinator than this one writes the log. That happens once it has something to write.
func (s *scene) takenOver(from *seat) {
	s.work()
	s.until("another coordinator writes the log", func() bool {
		leads, _ := s.leader()
		return leads != from
	})
	leads, _ := s.leader()
	s.saw("%s leads", leads.name)
}

func leaderKilled(s *scene) {
	c, _ := s.leader()
	s.endsCoordinator(c)
	s.takenOver(c)
}

func leaderStopped(s *scene) {
	c, _ := s.leader()
	s.heals(func() { c.process.signal(syscall.SIGCONT) })
	c.process.signal(syscall.SIGSTOP)
	s.takenOver(c)
}

func busKilled(s *scene) {
	s.mutely = true
	// The fault comes while commands are under way.
	s.work()
	s.heals(func() { s.startBus() })
	s.bus.kill()
	s.until("the client is disconnected", func() bool { return !s.Conn.IsConnected() })
	s.saw("no client is connected")
}

func busStopped(s *scene) {
	s.mutely = true
	s.heals(func() { s.bus.signal(syscall.SIGCONT) })
	s.bus.signal(syscall.SIGSTOP)
	s.stands(s.bus.cmd.Process.Pid)
	const longer = 4 // seconds: a lease lasts 2
	for range longer {
		if s.Conn.FlushTimeout(lookEvery*10) == nil {
			s.fail("it answers")
		}
	}
	s.saw("no answer for %d s", longer)
}
