package podman_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// guarding returns an engine whose watchdog is this program. The watchdog ends by itself.
func (b *bench) guarding(t *testing.T) *podman.Engine {
	t.Helper()
	t.Setenv(watching, "yes")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	engine := connect(t, b.uri)
	engine.Watchdog(filepath.Join(t.TempDir(), "watchdog"), program)
	return engine
}

func testGuard(t *testing.T, b *bench) {
	engine := b.guarding(t)
	t.Run("ends when its window has passed, while Podman hangs", func(t *testing.T) { testGuardHangs(t, b, engine) })
	t.Run("ends as it begins where that is after its window", func(t *testing.T) { testGuardLate(t, b, engine) })
	t.Run("needs a watchdog", func(t *testing.T) {
		var failure *node.Failure
		err := b.engine.Guard(t.Context(), time.Now(), []node.Guarded{{Window: time.Hour}})
		if !errors.As(err, &failure) || failure.Reason != events.OfflineNotAllowed {
			t.Errorf("Guard gave %v", err)
		}
	})
}

func testGuardHangs(t *testing.T, b *bench, engine *podman.Engine) {
	const window = time.Second
	plan := b.plan(t)
	plan.Order.Spec.Sidecars = []events.Sidecar{{Name: "beside", Image: b.image, Args: []string{"-listen", ":8081"}}}
	c := b.prepare(t, plan)
	heard := time.Now()
	if err := engine.Guard(t.Context(), heard, []node.Guarded{{Container: c, Window: time.Hour}}); err != nil {
		t.Fatal(err)
	}
	b.start(t, c)
	pids := []int{b.pid(t, c), b.pid(t, node.Container{Handle: c.Sidecars[0]})}
	service := podmantest.ServicePID(t, b.uri)
	if err := syscall.Kill(service, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Kill(service, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
		b.remove(t, c)
	}()
	untilStopped(t, service)
	heard = time.Now()
	if err := engine.Guard(t.Context(), heard, []node.Guarded{{Container: c, Window: window}}); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		untilEnded(t, pid)
		if lived := time.Since(heard); lived < window {
			t.Errorf("it ended after %s, and had %s", lived, window)
		}
	}
}

// untilEnded waits until the process has ended.
func untilEnded(t *testing.T, pid int) {
	t.Helper()
	process, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(process) }()
	const patience = 30_000 // milliseconds
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, patience); err != nil || n == 0 {
		t.Fatalf("process %d runs on: %v", pid, err)
	}
}

func testGuardLate(t *testing.T, b *bench, engine *podman.Engine) {
	plan := b.plan(t)
	c := b.prepare(t, plan)
	if err := engine.Guard(t.Context(), time.Now().Add(-time.Minute), []node.Guarded{{Container: c, Window: time.Second}}); err != nil {
		t.Fatal(err)
	}
	if err := b.engine.Start(t.Context(), c); err != nil {
		t.Logf("Podman says of a container that ended before it ran: %v", err)
	}
	b.podman(t, "wait", c.Handle)
	if out := b.podman(t, "logs", c.Handle); out != "" {
		t.Errorf("it ran so long that it printed %q", out)
	}
}
