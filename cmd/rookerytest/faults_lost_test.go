package rookerytest_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// lostFaults last so long that silent nodes are lost and their instances are replaced.
func lostFaults() []fault {
	return []fault{
		{name: "node cut off until it is lost", expected: "its instance is replaced; one of both stays", inject: nodeLost},
		{name: "exclusive slot: node cut off, Podman hung", expected: "the first copy ends before the next begins", inject: func(s *scene) {
			s.replacesExclusive(func() {
				s.cutsOff()
				pid := podmantest.ServicePID(s.t, s.host.uri)
				s.heals(func() { s.signal(pid, syscall.SIGCONT) })
				s.signal(pid, syscall.SIGSTOP)
			})
		}},
		{name: "exclusive slot: node's process stopped", expected: "the first copy ends before the next begins", inject: func(s *scene) {
			s.replacesExclusive(func() {
				s.heals(func() { s.host.node.signal(syscall.SIGCONT) })
				s.host.node.signal(syscall.SIGSTOP)
			})
		}},
		{name: "exclusive slot: node killed while it is cut off", expected: "the first copy ends before the next begins", inject: func(s *scene) {
			s.replacesExclusive(func() {
				s.cutsOff()
				s.endsNode(s.host)
			})
		}},
	}
}

// cutsOff stops all traffic between the host and the others.
func (s *scene) cutsOff() {
	s.drops(s.host.host, "INPUT", "--in-interface", "eth0")
	s.drops(s.host.host, "OUTPUT", "--out-interface", "eth0")
}

func nodeLost(s *scene) {
	s.runsAnywhere("demo/probe", `,"disconnect":{"lost_after":"2s"}`)
	_, s.mark = s.heard.after(s.mark)
	s.cutsOff()
	s.hears("service.demo.probe.instance.lost", s.host.name)
	s.hears("service.demo.probe.instance.online", "")
	_, at := s.replacement("demo/probe")
	s.saw("another runs on %s", at.name)
}

// runsAnywhere runs a service for this scene alone, with one instance, on any host. The scene uses that host from then on.
func (s *scene) runsAnywhere(service, fields string) {
	s.services = append(s.services, service)
	sequence, ok := s.command(service, "ensure", fmt.Sprintf(
		`{"image":%q,"scale":1,"restart":{"delay":"100ms","max_delay":"1s"},"stop_grace":"1s"%s}`, podmantest.WebReference, fields))
	if !ok {
		s.fail("ensure of %s was not acknowledged", service)
	}
	if outcome := s.Outcome(sequence); outcome.Outcome != "succeeded" {
		s.fail("ensure of %s ended as %+v", service, outcome)
	}
	_, s.host = s.soleRunning(service, s.hosts)
}

// soleRunning returns the one running container of the service on these hosts, and its host.
func (s *scene) soleRunning(service string, hosts []*station) (one listed, at *station) {
	for _, h := range hosts {
		all, err := h.list()
		if err != nil {
			s.fail("%v", err)
		}
		for _, l := range all {
			if l.Labels[node.LabelNamespace]+"/"+l.Labels[node.LabelService] != service || l.State != "running" {
				continue
			}
			if at != nil {
				s.fail("%s runs on %s and on %s", service, at.name, h.name)
			}
			one, at = l, h
		}
	}
	if at == nil {
		s.fail("%s runs nowhere", service)
	}
	return one, at
}

// replacement returns the container that runs on another host than the scene's.
func (s *scene) replacement(service string) (listed, *station) {
	var others []*station
	for _, h := range s.hosts {
		if h != s.host {
			others = append(others, h)
		}
	}
	return s.soleRunning(service, others)
}

// replacesExclusive keeps the host of an exclusive slot silent until another instance takes its place. It then checks from outside when the
// old instance ended and the new one began.
func (s *scene) replacesExclusive(unheard func()) {
	s.runsAnywhere("demo/sole", `,"exclusive":true,"disconnect":{"lost_after":"15s"}`)
	first := s.container("demo/sole")
	ended := s.endOf(first.PID)
	_, s.mark = s.heard.after(s.mark)
	unheard()
	s.hears("service.demo.sole.instance.lost", s.host.name)
	s.hears("service.demo.sole.instance.online", "")
	second, at := s.replacement("demo/sole")
	began := s.beginOf(second.PID)
	select {
	case end := <-ended:
		if end > began {
			s.fail("the first copy ended %s after the second began", end-began)
		}
		s.saw("the first copy ended %s before the second began on %s", (began - end).Round(time.Second), at.name)
	default:
		s.fail("the first copy runs on beside the second on %s", at.name)
	}
}

// endOf tells when the process ended, since the machine was started.
func (s *scene) endOf(pid int) <-chan time.Duration {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		s.fail("process %d: %v", pid, err)
	}
	at := make(chan time.Duration, 1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() { _ = unix.Close(process) }()
		const look = 100 // milliseconds, after which the trial may be over
		for s.interrupted.Err() == nil {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, look)
			var now unix.Timespec
			if clockErr := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); clockErr != nil || (err != nil && !errors.Is(err, unix.EINTR)) {
				return
			}
			if n > 0 {
				at <- time.Duration(now.Nano())
				return
			}
		}
	}()
	s.t.Cleanup(func() { <-over })
	return at
}

// beginOf returns when the process began, since the machine was started.
func (s *scene) beginOf(pid int) time.Duration {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		s.fail("%v", err)
	}
	const starttime, tick = 19, 10 * time.Millisecond // of the fields behind the name; the kernel's unit of time in user space
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	ticks, err := strconv.Atoi(string(fields[starttime]))
	if err != nil {
		s.fail("%v", err)
	}
	return time.Duration(ticks) * tick
}
