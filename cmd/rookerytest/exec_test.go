package rookerytest_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rookery-project/rookery/cmd/rookerytest"
)

// withInput runs the program with this input, and returns what it prints on each stream and its exit code.
func withInput(t *testing.T, input []byte, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	p := newProcess(t, exec.Command(path, args...)) //nolint:noctx // ended by the test
	out := &safeBuffer{}
	p.cmd.Stdin, p.cmd.Stdout = bytes.NewReader(input), out
	p.start()
	<-p.ended
	return out.String(), p.output.String(), p.cmd.ProcessState.ExitCode()
}

func TestExecHasStreamsAndAnExitCode(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":3}`)
	big := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16) // eight windows
	for _, row := range []struct {
		command        []string
		input          []byte
		stdout, stderr string
		code           int
	}{
		{[]string{"demo/web/1", "echo", "hello", "there"}, nil, "hello there\n", "", 0},
		{[]string{"demo/web/2", "--", "warn", "hm"}, nil, "", "hm\n", 0},
		{[]string{"demo/web/0", "exit", "7"}, nil, "", "", 7},
		{[]string{"demo/web/0", "no-such"}, nil, "", "the container does not have this command (exit code 127)\n", 127},
		{[]string{"demo/web/0", "cat"}, []byte("is not read"), "", "", 0},
		{[]string{"-i", "demo/web/0", "cat"}, big, string(big), "", 0},
	} {
		stdout, stderr, code := withInput(t, row.input, append([]string{"exec", "--server", cluster.URL}, row.command...)...)
		if stdout != row.stdout || !strings.HasSuffix(stderr, row.stderr) || row.stderr == "" && stderr != "" || code != row.code {
			t.Errorf("%q ended with %d and printed %d bytes, %q", row.command, code, len(stdout), stderr)
		}
	}
	stdout, stderr, _ := withInput(t, nil, "exec", "--server", cluster.URL, "demo/web", "echo", "x")
	if stdout != "x\n" || !strings.HasPrefix(stderr, "rookery: in demo/web.0.1 on node-") {
		t.Errorf("without an ordinal it prints %q, and says %q", stdout, stderr)
	}
}

// screen is a terminal that a process is run on. It shows the output of the process.
type screen struct {
	*process
	people  *os.File
	reading sync.WaitGroup
}

// onTerminal runs the program on a terminal of this size.
func onTerminal(t *testing.T, rows, columns uint16, args ...string) *screen {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	people, tty := terminal(t)
	s := &screen{process: newProcess(t, exec.Command(path, args...)), people: people} //nolint:noctx // ended by the test
	s.size(rows, columns)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = tty, tty, tty
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true, Setctty: true}
	s.start()
	if err := tty.Close(); err != nil { // so that the end of the process is the end of what is shown
		t.Fatal(err)
	}
	s.reading.Go(func() {
		part := make([]byte, 4<<10)
		for {
			n, err := people.Read(part)
			if _, _ = s.output.Write(part[:n]); err != nil {
				return
			}
		}
	})
	t.Cleanup(func() {
		s.kill()
		s.reading.Wait()
	})
	return s
}

// size changes the size of the terminal, and the kernel signals that to the programs on it.
func (s *screen) size(rows, columns uint16) {
	s.t.Helper()
	if err := unix.IoctlSetWinsize(int(s.people.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		s.t.Fatal(err)
	}
}

// shows waits until the text is shown.
func (s *screen) shows(cluster *rookerytest.Cluster, text string) {
	s.t.Helper()
	cluster.Until(fmt.Sprintf("%q is shown", text), func() bool { return strings.Contains(s.output.String(), text) })
}

// types types the text.
func (s *screen) types(text string) {
	s.t.Helper()
	if _, err := s.people.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

func TestExecFollowsTheSizeOfItsTerminal(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1"}`)
	s := onTerminal(t, 24, 80, "exec", "-it", "--server", cluster.URL, "demo/web/0", "sizes")
	s.shows(cluster, "24 80")
	s.size(50, 132)
	s.shows(cluster, "50 132")
	s.signal(syscall.SIGTERM)
	<-s.ended
	if code := s.cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("it ended with %d", code)
	}
}
