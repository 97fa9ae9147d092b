package rookerytest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// clockOff is how far the clocks of some coordinators and nodes are off, in seconds.
const clockOff = 30

// ahead and behind are the real rookery with a clock that is off. The clock of a NATS server is as it is: it would be off for the messages of
// all clients alike.
var (
	ahead  = sync.OnceValues(func() (string, error) { return withClock("rookery-ahead", clockOff) })
	behind = sync.OnceValues(func() (string, error) { return withClock("rookery-behind", -clockOff) })
)

// withClock builds rookery with a standard library whose clock is off by some seconds. How much time has passed it measures as always.
func withClock(name string, seconds int) (string, error) {
	overlay, err := clockOverlay()
	if err != nil {
		return "", err
	}
	return compiled(name, "github.com/rookery-project/rookery/cmd/rookery", "-overlay", overlay, "-ldflags", fmt.Sprintf("-X time.clockOff=%d", seconds))
}

// clockOverlay writes the file that replaces one of the standard library in a build, where the linker sets how far the clock is off.
var clockOverlay = sync.OnceValues(func() (string, error) {
	dir, err := programs()
	if err != nil {
		return "", err
	}
	const read = "sec, nsec, mono := runtimeNow()\n"
	ctx, cancel := context.WithTimeout(context.Background(), publishWithin)
	defer cancel()
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(text), read) {
		return "", fmt.Errorf("%s does not read the clock by %q", source, read)
	}
	changed := strings.ReplaceAll(string(text), read, read+"\tsec += int64(clockOffSeconds)\n") +
		"\nvar clockOff string\n\nvar clockOffSeconds, _ = atoi(clockOff)\n"
	replacement, list := filepath.Join(dir, "time.go"), filepath.Join(dir, "clock.json")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: replacement}})
	return list, errors.Join(err, os.WriteFile(replacement, []byte(changed), 0o600), os.WriteFile(list, overlay, 0o600))
})

// setsClocks starts two coordinators, of which one leads, and two nodes again with clocks that are off, one ahead and one behind, until the fault is
// healed. The third coordinator leads.
func (q *quorum) setsClocks(s *scene) {
	programs := map[string]string{}
	for clock, build := range map[string]func() (string, error){"ahead": ahead, "behind": behind} {
		path, err := build()
		if err != nil {
			s.fail("%v", err)
		}
		programs[clock] = path
	}
	leads, beside := s.leader()
	for i, c := range []*seat{leads, beside} {
		h, clock := q.hosts[i], []string{"ahead", "behind"}[i]
		s.heals(func() { q.startsNodeBy(h, q.path) })
		s.heals(func() { q.startsCoordinatorBy(c, q.path) })
		q.startsNodeBy(h, programs[clock])
		q.startsCoordinatorBy(c, programs[clock])
	}
	s.takenOver(leads)
	if now, _ := s.leader(); now == beside {
		s.fail("%s leads, whose clock is off", now.name)
	}
}

// startsNodeBy ends the node of the host, and starts it by this program.
func (q *quorum) startsNodeBy(h *station, path string) {
	h.node.signal(syscall.SIGTERM)
	<-h.node.ended
	h.path = path
	q.startNode(h)
}

// startsCoordinatorBy ends the coordinator, and starts it by this program.
func (q *quorum) startsCoordinatorBy(c *seat, path string) {
	c.process.signal(syscall.SIGTERM)
	<-c.process.ended
	c.path = path
	q.startCoordinator(c)
}
