package rookerytest_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rookery-project/rookery/cmd/rookerytest"
)

// program is the real rookery, and natsServer the real NATS server. Each is built once for all tests of the package, with the flags of the
// Makefile, and without the race detector: it would watch the server, which is not ours, and takes ten times as long.
var (
	program    = sync.OnceValues(func() (string, error) { return compiled("rookery", "github.com/rookery-project/rookery/cmd/rookery") })
	natsServer = sync.OnceValues(func() (string, error) { return compiled("nats-server", "github.com/nats-io/nats-server/v2") })
)

// programs is the folder of what is built.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rookery-test")
	built.Store(dir)
	return dir, err
})

// built is the folder of programs, once there is one.
var built atomic.Value

// compiled builds a program. The flags stand before all others, as -C must.
func compiled(name, source string, flags ...string) (string, error) {
	dir, err := programs()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	const patience = 15 * time.Minute // beside all other tests of a slow machine
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	build := exec.CommandContext(ctx, "go", append(append([]string{"build"}, flags...), "-trimpath", "-o", path, source)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", &buildError{string(out)}
	}
	return path, nil
}

type buildError struct{ output string }

func (e *buildError) Error() string { return "go build: " + e.output }

func TestMain(m *testing.M) {
	code := m.Run()
	printTally()
	http.DefaultClient.CloseIdleConnections()
	// The client of NATS (nats.go 1.55.0) leaks this one where a publisher is cleaned up before it has begun.
	const published = "github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"
	if err := goleak.Find(goleak.IgnoreTopFunction(published)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if dir, ok := built.Load().(string); ok && os.RemoveAll(dir) != nil {
		code = max(code, 1)
	}
	os.Exit(code)
}

// process is a real process that the test started; it ends with the test at the latest.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	output *safeBuffer
	ended  chan struct{}
}

// safeBuffer collects what a process prints.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// newProcess prepares a process that prints into its output.
func newProcess(t testing.TB, cmd *exec.Cmd) *process {
	p := &process{t: t, cmd: cmd, output: &safeBuffer{}, ended: make(chan struct{})}
	p.cmd.Stderr = p.output
	// A test that is killed takes its processes with it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return p
}

// startProcess runs the program with these arguments.
func startProcess(t testing.TB, args ...string) *process {
	t.Helper()
	return startProcessIn(t, nil, args...)
}

// startProcessIn runs the program with these variables; with the test's own where they are nil.
func startProcessIn(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return startProgramIn(t, path, env, args...)
}

// startProgramIn is startProcessIn for a program of this path.
func startProgramIn(t testing.TB, path string, env []string, args ...string) *process {
	t.Helper()
	p := newProcess(t, exec.Command(path, args...)) //nolint:noctx // ended by the test
	p.cmd.Stdout, p.cmd.Env = p.output, env
	p.start()
	return p
}

func (p *process) start() {
	p.t.Helper()
	// The thread that starts a process with a death signal must outlive it.
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer close(p.ended)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		p.signal(syscall.SIGCONT)
		p.kill()
		if p.t.Failed() {
			p.t.Logf("output of %v:\n%s", p.cmd.Args, natsInfo.ReplaceAllString(p.output.String(), ""))
		}
	})
}

// natsInfo matches the lines in which a NATS server says that all is well: long as they are, they would hide the failure.
var natsInfo = regexp.MustCompile(`(?m)^.* \[INF\] .*\n`)

// kill ends the process with SIGKILL and returns when it has ended.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.ended:
	default:
		_ = p.cmd.Process.Signal(s)
	}
}

func startCoordinator(t testing.TB, cluster *rookerytest.Cluster) *process {
	t.Helper()
	return startProcess(t, "coordinator", "--server", cluster.URL, "--heartbeat", "500ms")
}

// rookery runs the program to its end and returns its output and exit code.
func rookery(t testing.TB, args ...string) (string, int) {
	t.Helper()
	return rookeryIn(t, nil, args...)
}

// rookeryIn is rookery with these variables; with the test's own where they are nil.
func rookeryIn(t testing.TB, env []string, args ...string) (string, int) {
	t.Helper()
	p := startProcessIn(t, env, args...)
	<-p.ended
	return p.output.String(), p.cmd.ProcessState.ExitCode()
}
