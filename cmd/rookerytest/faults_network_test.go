package rookerytest_test

import (
	"net"
	"slices"
	"time"
)

// networkFaults are breaks of the links between hosts, coordinators and the bus.
func networkFaults() []fault {
	return []fault{
		{name: "node cut off in full", expected: "silent, then heard again; its containers stay", check: adopted, inject: func(s *scene) {
			s.silenced(func() {
				s.drops(s.host.host, "INPUT", "--in-interface", "eth0")
				s.drops(s.host.host, "OUTPUT", "--out-interface", "eth0")
			})
		}},
		{name: "node's link down", expected: "silent, then heard again; its containers stay", check: adopted, inject: func(s *scene) {
			s.silenced(func() {
				s.heals(func() { s.run("ip", "link", "set", s.host.host.link, "up") })
				s.run("ip", "link", "set", s.host.host.link, "down")
			})
		}},
		{name: "node hears nothing", expected: "silent, then heard again; its containers stay", check: adopted, inject: func(s *scene) {
			s.silenced(func() { s.drops(s.host.host, "INPUT", "--in-interface", "eth0") })
		}},
		{name: "node is not heard", expected: "silent, then heard again; its containers stay", check: adopted, inject: func(s *scene) {
			s.silenced(func() { s.drops(s.host.host, "OUTPUT", "--out-interface", "eth0") })
		}},
		{name: "node cut off from the bus alone", expected: "silent, then heard again; its containers stay", check: adopted, inject: func(s *scene) {
			s.silenced(func() { s.dropsBus(s.host.host, s.host.link) })
		}},
		{name: "node's link to the bus half open", expected: "silent, then heard on a new connection", check: adopted, inject: func(s *scene) {
			s.silenced(func() { s.heals(s.host.link.halfOpen()) })
		}},
		{name: "node's link to the bus reset again and again", expected: "nothing is lost", inject: func(s *scene) { s.resets(s.host.link) }},
		{name: "node's link to the bus slow", expected: "all takes longer", inject: func(s *scene) { s.slows(s.host.link) }},
		{name: "all nodes cut off at once", expected: "silent, then heard again; all containers stay", check: adopted, inject: func(s *scene) {
			s.silenced(func() {
				for _, h := range s.hosts {
					s.drops(h.host, "INPUT", "--in-interface", "eth0")
				}
			})
		}},
		{name: "leader cut off from the bus", expected: "the other leads", inject: func(s *scene) {
			s.loses(func(c *seat) { s.dropsBus(c.host, c.link) })
		}},
		{name: "leader cut off in full", expected: "the other leads", inject: func(s *scene) {
			s.loses(func(c *seat) {
				s.drops(c.host, "INPUT", "--in-interface", "eth0")
				s.drops(c.host, "OUTPUT", "--out-interface", "eth0")
			})
		}},
		{name: "leader hears nothing", expected: "the other leads", inject: func(s *scene) {
			s.loses(func(c *seat) { s.drops(c.host, "INPUT", "--in-interface", "eth0") })
		}},
		{name: "leader's link to the bus half open", expected: "the other leads", inject: func(s *scene) {
			s.loses(func(c *seat) { s.heals(c.link.halfOpen()) })
		}},
		{name: "leader's link to the bus reset again and again", expected: "nothing is lost", inject: func(s *scene) {
			c, _ := s.leader()
			s.resets(c.link)
		}},
		{name: "leader's link to the bus slow", expected: "all takes longer", inject: func(s *scene) {
			c, _ := s.leader()
			s.slows(c.link)
		}},
		{name: "standby cut off from the bus", expected: "nothing changes", inject: func(s *scene) {
			_, c := s.leader()
			s.dropsBus(c.host, c.link)
			s.saw("%s reaches no bus", c.name)
		}},
	}
}

// drops makes the kernel of the host drop the packets that a rule names.
func (s *scene) drops(h *host, chain string, rule ...string) {
	words := func(verb string) []string {
		return slices.Concat([]string{"iptables", "--wait", verb, chain}, rule, []string{"--jump", "DROP"})
	}
	s.heals(func() { s.in(h, words("--delete")...) })
	s.in(h, words("--insert")...)
}

// dropsBus makes the kernel of the host drop the packets to and from the bus over the wire.
func (s *scene) dropsBus(h *host, w *wire) {
	_, port, err := net.SplitHostPort(w.address())
	if err != nil {
		s.fail("%v", err)
	}
	s.drops(h, "OUTPUT", "--protocol", "tcp", "--dport", port)
	s.drops(h, "INPUT", "--protocol", "tcp", "--sport", port)
}

// silenced makes a fault that keeps the node of the host silent.
func (s *scene) silenced(inject func()) {
	s.remembers()
	inject()
	s.hears("node."+s.host.name+".silent", "")
}

// loses makes a fault that keeps the leader from leading.
func (s *scene) loses(inject func(*seat)) {
	c, _ := s.leader()
	inject(c)
	s.takenOver(c)
}

// resets breaks the link again and again while clients send commands.
func (s *scene) resets(w *wire) {
	const times = 5
	for range times {
		w.reset()
		s.work()
	}
	s.saw("reset %d times", times)
}

// slows keeps the link slow until the end of the fault, while clients send commands.
func (s *scene) slows(w *wire) {
	const delay = 200 * time.Millisecond
	s.heals(func() { w.slow(0) })
	w.slow(delay)
	s.work()
	sequence, ok := s.command("demo/single", "restart", `{"busy":"supersede"}`)
	if !ok {
		s.fail("the command was not acknowledged")
	}
	outcome := s.Outcome(sequence)
	s.saw("%s each way; restart %s meanwhile", delay, outcome.Outcome)
}
