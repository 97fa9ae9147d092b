package podman_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// aCommand is a process that a fake Podman says is the command in a container.
type aCommand struct {
	process *exec.Cmd
	ended   chan struct{}

	mu      sync.Mutex
	started bool // as Podman says
}

func newCommand(t *testing.T, words ...string) *aCommand {
	t.Helper()
	c := &aCommand{process: exec.Command(words[0], words[1:]...), ended: make(chan struct{})} //nolint:noctx // ended by the test
	c.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		_ = c.process.Wait() // it is killed, or ends with a code of its own
	}()
	t.Cleanup(func() {
		_ = c.process.Process.Kill() // it may have ended
		<-c.ended
	})
	return c
}

func (c *aCommand) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started = true
}

// json is what Podman says of it.
func (c *aCommand) json() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.ended:
		return fmt.Sprintf(`{"CanRemove":true,"ExitCode":%d}`, c.process.ProcessState.ExitCode())
	default:
		return fmt.Sprintf(`{"Running":%t,"Pid":%d}`, c.started, c.process.Process.Pid)
	}
}

// executing returns an engine whose Podman runs the command, and starts it as it is told.
func executing(t *testing.T, c *aCommand, start http.HandlerFunc) node.Engine {
	t.Helper()
	return connect(t, serveFake(t, func(w http.ResponseWriter, r *http.Request) {
		answer := ""
		switch {
		case strings.HasSuffix(r.URL.Path, "/start"):
			start(w, r)
			return
		case strings.HasSuffix(r.URL.Path, "/exec"):
			answer = `{"Id":"x"}`
		case strings.HasSuffix(r.URL.Path, "/json"):
			answer = c.json()
		}
		if _, err := io.WriteString(w, answer); err != nil {
			t.Error(err)
		}
	}))
}

// handOver answers the start of a command with its connection, and ends that.
func handOver(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := io.WriteString(connection, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"); err != nil {
		t.Error(err)
	}
	if err := connection.Close(); err != nil {
		t.Error(err)
	}
}

func run() node.Execution {
	return node.Execution{Command: []string{"x"}, Output: func(events.Stream, []byte) error { return nil }}
}

// TestACommandEndsWhoseClientGoesWhileItBegins has Podman start it after its client went.
func TestACommandEndsWhoseClientGoesWhileItBegins(t *testing.T) {
	c := newCommand(t, "sleep", "1000")
	ctx, leave := context.WithCancel(t.Context())
	engine := executing(t, c, func(w http.ResponseWriter, _ *http.Request) {
		leave()
		time.AfterFunc(100*time.Millisecond, c.start) // Podman says that it runs once it does
		handOver(t, w)
	})
	if _, err := engine.Execute(ctx, node.Container{Handle: "h"}, run()); !errors.Is(err, context.Canceled) {
		t.Errorf("Execute gave %v", err)
	}
	select {
	case <-c.ended:
	default:
		t.Error("the command runs on")
	}
}

// TestACommandEndsThatClosedItsOutput disconnects the client of a command that runs on without an output.
func TestACommandEndsThatClosedItsOutput(t *testing.T) {
	c := newCommand(t, "sleep", "1000")
	ctx, leave := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer leave()
	engine := executing(t, c, func(w http.ResponseWriter, _ *http.Request) {
		c.start()
		handOver(t, w)
	})
	if _, err := engine.Execute(ctx, node.Container{Handle: "h"}, run()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Execute gave %v", err)
	}
	select {
	case <-c.ended:
	default:
		t.Error("the command runs on")
	}
}

// TestACommandThatClosedItsOutputHasItsExitCode has it run on for longer than Podman may take to tell of an end.
func TestACommandThatClosedItsOutputHasItsExitCode(t *testing.T) {
	c := newCommand(t, "sh", "-c", "sleep 6; exit 3")
	engine := executing(t, c, func(w http.ResponseWriter, _ *http.Request) {
		c.start()
		handOver(t, w)
	})
	if code, err := engine.Execute(t.Context(), node.Container{Handle: "h"}, run()); code != 3 || err != nil {
		t.Errorf("Execute gave %d, %v", code, err)
	}
}

// testExecuteLeft has clients of commands go at every moment of their beginning: none runs on, and the last ones had begun.
func testExecuteLeft(t *testing.T, b *bench) {
	plan := b.plan(t)
	c := b.prepare(t, plan)
	b.start(t, c)
	for after := time.Duration(0); after < 400*time.Millisecond; after += 20 * time.Millisecond {
		ctx, leave := context.WithTimeout(t.Context(), after)
		x := run()
		x.Command = []string{"/web", "-listen", "127.0.0.1:0"}
		_, err := b.engine.Execute(ctx, c, x)
		leave()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %s Execute gave %v", after, err)
		}
		if processes := strings.Count(b.podman(t, "top", c.Handle, "pid"), "\n"); processes != 1 { // the head, and the service's own without the end of its line
			t.Errorf("with a client that went after %s there are\n%s", after, b.podman(t, "top", c.Handle, "pid", "args"))
		}
	}
	b.remove(t, c)
}
