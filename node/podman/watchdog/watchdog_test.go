package watchdog_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rookery-project/rookery/node/podman/watchdog"
)

// serving has the test's own program be the watchdog where it is begun as one.
const serving = "ROOKERY_TEST_WATCHDOG"

func TestMain(m *testing.M) {
	if os.Getenv(serving) != "" {
		listener, err := watchdog.Inherited()
		if err == nil {
			err = watchdog.Serve(context.Background(), listener)
		}
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// container is a process beside its monitor, whose words have the container's id as Podman's has.
type container struct {
	watchdog.Guarded
	process *exec.Cmd
	ended   chan struct{}
}

// hour is longer than any test.
const hour = time.Hour

// run begins a process as Podman would: a monitor, of which it is a child, and the file with its number.
func run(t *testing.T, folder, id string, window time.Duration) *container {
	t.Helper()
	c := plan(t, folder, id, window)
	c.start(t)
	return c
}

// plan is a container that is made and not started.
func plan(t *testing.T, folder, id string, window time.Duration) *container {
	t.Helper()
	home := filepath.Join(folder, id)
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	return &container{
		Guarded: watchdog.Guarded{ID: id, PIDFile: filepath.Join(home, "pidfile"), Window: window}, ended: make(chan struct{}),
	}
}

func (c *container) start(t *testing.T) {
	t.Helper()
	// The shell is the monitor: its words have the id. It ends with its child.
	c.process = exec.Command("sh", "-c", `sleep 3600 & echo $! >"$2.new"; mv "$2.new" "$2"; wait`, "conmon", c.ID, c.PIDFile) //nolint:noctx // ended below
	c.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		_ = c.process.Wait() // it is killed
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-c.process.Process.Pid, syscall.SIGKILL) // it may have ended
		<-c.ended
	})
}

// client speaks to a watchdog that is this program.
func client(t *testing.T, folder string) *watchdog.Client {
	t.Helper()
	t.Setenv(serving, "yes")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &watchdog.Client{Socket: filepath.Join(folder, "watchdog"), Command: []string{program}}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func guard(t *testing.T, c *watchdog.Client, heard time.Time, containers ...*container) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var all []watchdog.Guarded
	for _, one := range containers {
		all = append(all, one.Guarded)
	}
	if err := c.Guard(ctx, heard, all); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the container's end, and fails the test where none comes.
func (c *container) ends(t *testing.T) {
	t.Helper()
	select {
	case <-c.ended:
	case <-time.After(30 * time.Second):
		t.Fatalf("container %s runs on", c.ID)
	}
}

func (c *container) runs() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

func TestAContainerEndsWithItsWindowAndNoSooner(t *testing.T) {
	folder := t.TempDir()
	c := client(t, folder)
	short, long := run(t, folder, "short", 500*time.Millisecond), run(t, folder, "long", hour)
	heard := time.Now()
	guard(t, c, heard, short, long)
	short.ends(t)
	if lived := time.Since(heard); lived < 500*time.Millisecond {
		t.Errorf("it ended after %s, and had 500ms", lived)
	}
	if !long.runs() {
		t.Error("one with a longer window ended, too")
	}
}

func TestAWindowBeginsAnewWhenItsNodeIsHeard(t *testing.T) {
	folder := t.TempDir()
	c := client(t, folder)
	one := run(t, folder, "one", time.Second)
	began := time.Now()
	for range 20 {
		guard(t, c, time.Now(), one)
		select {
		case <-one.ended:
			t.Fatalf("it ended after %s, although its node was heard", time.Since(began))
		case <-time.After(100 * time.Millisecond):
		}
	}
	last := time.Now()
	guard(t, c, last, one)
	guard(t, c, began, one) // late: what was heard before prolongs nothing, and shortens nothing
	one.ends(t)
	if lived := time.Since(last); lived < time.Second {
		t.Errorf("it ended %s after its node was heard last, and had 1s", lived)
	}
}

func TestWhatStartsAfterItsWindowIsEndedAtOnce(t *testing.T) {
	folder := t.TempDir()
	c := client(t, folder)
	late := plan(t, folder, "late", time.Millisecond)
	guard(t, c, time.Now().Add(-time.Second), late)
	late.start(t)
	late.ends(t)
}

func TestAnotherProcessOfTheSameNumberIsLeftAlone(t *testing.T) {
	folder := t.TempDir()
	c := client(t, folder)
	other := run(t, folder, "other", hour)
	var number []byte
	for len(number) == 0 {
		number, _ = os.ReadFile(other.PIDFile) // it comes with its process
	}
	stale := plan(t, folder, "stale", time.Millisecond)
	if err := os.WriteFile(stale.PIDFile, number, 0o600); err != nil {
		t.Fatal(err)
	}
	one := run(t, folder, "one", 300*time.Millisecond)
	guard(t, c, time.Now().Add(-time.Millisecond), stale, one)
	one.ends(t) // by then the other one was looked at, many times
	if !other.runs() {
		t.Error("a process was ended that belongs to another container")
	}
}

func TestTheWatchdogOutlivesWhoBeganItAndEndsByItself(t *testing.T) {
	folder := t.TempDir()
	first := client(t, folder)
	one := run(t, folder, "one", 2*time.Second)
	guard(t, first, time.Now(), one)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := client(t, folder) // finds the same one
	if err := second.Guard(t.Context(), time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	one.ends(t)
	looks, limit := time.NewTicker(20*time.Millisecond), time.After(30*time.Second)
	defer looks.Stop()
	for {
		if _, err := os.Stat(first.Socket); errors.Is(err, os.ErrNotExist) {
			return
		}
		select {
		case <-looks.C:
		case <-limit:
			t.Fatal("the watchdog stays, and has nothing to do")
		}
	}
}

func TestAWatchdogThatWasKilledIsBegunAgain(t *testing.T) {
	folder := t.TempDir()
	c := client(t, folder)
	one := run(t, folder, "one", hour)
	guard(t, c, time.Now(), one)
	killServing(t, c.Socket)
	brief := run(t, folder, "brief", 100*time.Millisecond)
	guard(t, c, time.Now(), one, brief)
	brief.ends(t)
}

// killServing kills the watchdog that serves the socket: a child of this process.
func killServing(t *testing.T, socket string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range all {
		status, statusErr := os.ReadFile(filepath.Join(folder, "status"))
		runs, runsErr := os.Readlink(filepath.Join(folder, "exe"))
		if errors.Join(statusErr, runsErr) != nil || runs != program || !strings.Contains(string(status), parent) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
		for served(socket) { // until the kernel has closed its socket
			continue
		}
		return
	}
	t.Fatal("no watchdog is a child of this process")
}

// served reports whether a process listens at the socket.
func served(socket string) bool {
	connection, err := net.Dial("unix", socket) //nolint:noctx // it is on this host
	if err != nil {
		return false
	}
	_ = connection.Close() // nothing was said
	return true
}
