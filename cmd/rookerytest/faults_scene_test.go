package rookerytest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// fault is one fault, with what is expected beyond what is expected after every fault: the cluster settles within a minute of the end of
// the fault, without an orphan or a duplicate, and every command has ended once.
type fault struct {
	name, expected string
	// inject makes the fault, and returns once its effect can be seen. It gives scene.heals the functions that end the fault.
	inject func(*scene)
	// check looks at what has come of it, once all has settled; nil where nothing more is expected.
	check func(*scene)
}

// scene is one fault on a trial.
type scene struct {
	*trial
	// host and beside are two hosts that the fault may pick.
	host, beside *station
	mark         int // the first event that is told after the beginning
	undo         []func()
	services     []string       // the services that were made for it
	pids         map[string]int // the processes on the host that no command changes, by the ids of containers
	seen         []string
	// image is what a scene with a registry pulls, local the name under which a host's Podman is given it.
	image, local string
	// mutely says that no client reaches the bus while the fault lasts. The test sends its commands after the fault.
	mutely bool
}

// failing is the panic value that ends a scene early, with the effect that the test missed.
type failing string

// attempt runs a part of the scene, and returns what went wrong, or "".
func attempt(part func()) (wrong string) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failing:
			wrong = string(r)
		default:
			panic(r)
		}
	}()
	part()
	return ""
}

func (s *scene) fail(format string, values ...any) { panic(failing(fmt.Sprintf(format, values...))) }

// saw notes what was seen.
func (s *scene) saw(format string, values ...any) {
	s.seen = append(s.seen, fmt.Sprintf(format, values...))
}

// heals adds a function that ends the fault. The last one added runs first.
func (s *scene) heals(end func()) { s.undo = append(s.undo, end) }

// heal ends the fault, and says what went wrong.
func (s *scene) heal() (wrong string) {
	for i := len(s.undo) - 1; i >= 0; i-- {
		if w := attempt(s.undo[i]); w != "" {
			wrong = w
		}
	}
	s.undo = nil
	return wrong
}

// run runs a command of the system and returns what it prints.
func (s *scene) run(name string, words ...string) string {
	// Also where the trial is interrupted: what a fault has made is to end.
	ctx, cancel := context.WithTimeout(context.Background(), settlesWithin)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, words...).CombinedOutput()
	if err != nil {
		s.fail("%s %s: %v: %s", name, strings.Join(words, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// in runs a command of the system in the host's network.
func (s *scene) in(h *host, words ...string) string {
	return s.run("nsenter", append([]string{"--net=" + h.namespace}, words...)...)
}

// podman runs the own command of the host's Podman, which needs no service for it.
func (s *scene) podman(h *station, words ...string) string {
	return s.in(h.host, append([]string{h.folder() + "/podman"}, words...)...)
}

// until waits until the condition holds, and leaves the scene where that takes too long.
func (s *scene) until(what string, condition func() bool) {
	if !s.within(settlesWithin, condition) {
		s.fail("gave up waiting until %s", what)
	}
}

// within reports whether the condition came to hold in time.
func (f *trial) within(limit time.Duration, condition func() bool) bool {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	deadline := time.After(limit)
	for !condition() {
		select {
		case <-ticker.C:
		case <-deadline:
			return false
		case <-f.interrupted.Done():
			return false
		}
	}
	return true
}

// hears waits for an event of the subject whose body has the words, and notes that it was told.
func (s *scene) hears(subject, words string) {
	next, others := s.mark, []string(nil)
	heard := s.within(settlesWithin, func() bool {
		all, after := s.heard.after(next)
		next = after
		for _, m := range all {
			if m.Subject == "rookery.event."+subject && bytes.Contains(m.Data, []byte(words)) {
				s.saw("%s", told(subject, words, m.Data))
				return true
			}
			others = append(others, fmt.Sprintf("%s %.200s", m.Subject, m.Data))
		}
		return false
	})
	if !heard {
		const last = 10
		s.fail("gave up waiting until %s %s is told; last came:\n%s", subject, words, strings.Join(others[max(0, len(others)-last):], "\n"))
	}
}

// told is an event as the table shows it: its word, what was looked for and the beginning of its message.
func told(subject, words string, data []byte) string {
	var body struct{ Message string }
	_ = json.Unmarshal(data, &body) // there may be none
	const most = 90
	message := strings.Join(strings.Fields(body.Message), " ")
	if len(message) > most {
		message = message[:most] + "…"
	}
	parts := strings.Split(subject, ".")
	if parts[0] == "service" {
		parts = parts[3:]
	}
	return strings.TrimSpace(strings.Join(parts, ".") + " " + words + " " + message)
}

// ensures publishes a service for this scene alone, which must run on the host, and returns the sequence of the command.
func (s *scene) ensures(service, fields string) uint64 {
	s.services = append(s.services, service)
	sequence, ok := s.command(service, "ensure", fmt.Sprintf(
		`{"image":%q,"node_selector":{"host":%q},"restart":{"delay":"100ms","max_delay":"1s"},"stop_grace":"1s"%s}`,
		podmantest.WebReference, s.host.name, fields))
	if !ok {
		s.fail("ensure of %s was not acknowledged", service)
	}
	return sequence
}

// runs makes the host run a service for this scene alone.
func (s *scene) runs(service, fields string) {
	sequence := s.ensures(service, fields)
	if outcome := s.Outcome(sequence); outcome.Outcome != "succeeded" {
		s.fail("ensure of %s ended as %+v", service, outcome)
	}
}

// container returns the container of the service's slot 0 on the host, which must be there.
func (s *scene) container(service string) listed {
	all, err := s.host.list()
	if err != nil {
		s.fail("%v", err)
	}
	for _, l := range all {
		if l.Labels[node.LabelNamespace]+"/"+l.Labels[node.LabelService] == service && l.Labels[node.LabelOrdinal] == "0" {
			return l
		}
	}
	s.fail("%s has no container of %s", s.host.name, service)
	return listed{}
}

// serves starts the service of the host's Podman again.
func (s *scene) serves(h *station) {
	podmantest.RestartService(s.t, h.uri)
}

// endsService ends the service of the host's Podman with SIGKILL until the fault is healed.
func (s *scene) endsService(h *station) {
	s.heals(func() { s.serves(h) })
	s.signal(podmantest.ServicePID(s.t, h.uri), syscall.SIGKILL)
}

// signal sends a signal to a process that the trial has started, or had started.
func (s *scene) signal(pid int, what syscall.Signal) {
	if pid <= 1 {
		s.fail("there is no process %d", pid)
	}
	if err := syscall.Kill(pid, what); err != nil {
		s.fail("process %d: %v", pid, err)
	}
}

// ended waits until the process has ended.
func (s *scene) ended(pid int) {
	s.until(fmt.Sprintf("process %d has ended", pid), func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return true
		}
		_, state, _ := strings.Cut(string(text), ") ")
		return strings.HasPrefix(state, "Z")
	})
}

// stands waits until no thread of a process that was sent SIGSTOP runs: until then it may answer still.
func (s *scene) stands(pid int) {
	s.until(fmt.Sprintf("process %d stands", pid), func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		runs := func(file string) bool {
			text, err := os.ReadFile(file)
			_, state, _ := strings.Cut(string(text), ") ")
			return err == nil && !strings.HasPrefix(state, "T")
		}
		return err == nil && len(threads) > 0 && !slices.ContainsFunc(threads, runs)
	})
}

// steady returns the processes on the host that no command changes: it leaves out the service that the test scales all the time, and all
// jobs.
func (s *scene) steady(h *station) map[string]int {
	return s.running(h, func(l listed) bool {
		name := l.Labels[node.LabelService]
		return name != "web" && !strings.HasPrefix(name, "job-")
	})
}

// processes returns what runs on the host by the ids of containers.
func (s *scene) processes(h *station) map[string]int {
	return s.running(h, func(listed) bool { return true })
}

func (s *scene) running(h *station, counts func(listed) bool) map[string]int {
	all, err := h.list()
	if err != nil {
		s.fail("%v", err)
	}
	running := map[string]int{}
	for _, l := range all {
		if l.State == "running" && counts(l) {
			running[l.ID] = l.PID
		}
	}
	return running
}

// stays fails the scene unless what ran on the host does so still, as the same processes.
func (s *scene) stays(before map[string]int, now map[string]int) {
	for id, pid := range before {
		if now[id] != pid {
			s.fail("container %.12s was process %d and is %d", id, pid, now[id])
		}
	}
	s.saw("%d of %d containers stayed", len(before), len(before))
}
