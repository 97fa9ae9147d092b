package rookerytest_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
)

// TestWhatChangesIsWatched runs `rookery ps --watch`, which writes each change of a service, until the test presses Ctrl-C.
func TestWhatChangesIsWatched(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(1))
	watch := startProcess(t, "ps", "demo", "--watch", "--server", cluster.URL)
	says := func(what string) {
		t.Helper()
		cluster.Until("it writes "+what, func() bool { return strings.Contains(watch.output.String(), what) })
	}
	says("SERVICE  ORDINAL  GENERATION  NODE  STATUS  ADDRESSES  RESTARTS\n")
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":1}`)
	says("demo/web  0        1           node-0  online")
	cluster.Command("demo/web", "restart", `{}`)
	says("demo/web  0        2           node-0  online")
	cluster.Command("demo/web", "drop", `{}`)
	says("demo/web/0  gone\n")
	watch.signal(syscall.SIGINT)
	<-watch.ended
	if code := watch.cmd.ProcessState.ExitCode(); code != 130 || strings.Contains(watch.output.String(), "\x1b") {
		t.Errorf("Ctrl-C ends it with %d:\n%s", code, watch.output.String())
	}
}

// TestCtrlCEndsWhatFollows presses Ctrl-C in each command that follows: all end with the same code. Commands that wait also print what goes
// on without them.
func TestCtrlCEndsWhatFollows(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(1))
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":1}`)
	if !cluster.Nodes["node-0"].Print(events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Generation: 1}, "it serves") {
		t.Fatal("the instance does not run")
	}
	for _, row := range []struct{ args, begun, said string }{
		{"events --follow", "command.succeeded", "interrupted"},
		{"logs demo/web --follow", "it serves", "interrupted"},
		{"services --watch", "demo/web", "interrupted"},
		{"ensure demo/db --image localhost/db:1 --scale 3 --file " + tooLarge(t), "is stored", "interrupted: command 2 continues: see `rookery ps`"},
	} {
		p := startProcess(t, append(strings.Fields(row.args), "--server", cluster.URL)...)
		cluster.Until("it says "+row.begun, func() bool { return strings.Contains(p.output.String(), row.begun) })
		p.signal(syscall.SIGINT)
		<-p.ended
		if code, out := p.cmd.ProcessState.ExitCode(), p.output.String(); code != 130 || !strings.HasSuffix(out, "\nrookery: "+row.said+"\n") {
			t.Errorf("%s ends with %d: %s", row.args, code, out)
		}
	}
}

// tooLarge is the file of a spec that no node has room for.
func tooLarge(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "spec.json")
	if err := os.WriteFile(file, []byte(`{"image":"localhost/db:1","requests":{"memory":"900GiB"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestATerminalIsDrawnOnAndRestored watches on a terminal of 80 columns.
func TestATerminalIsDrawnOnAndRestored(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(1))
	people, side := terminal(t)
	if err := unix.IoctlSetWinsize(int(side.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	watch := newProcess(t, exec.Command(path, "services", "--watch", "--server", cluster.URL)) //nolint:noctx // ended by the test
	watch.cmd.Stdout, watch.cmd.Env = side, append(os.Environ(), "TERM=xterm", "NO_COLOR=")
	var screen safeBuffer
	go io.Copy(&screen, people) //nolint:errcheck // it ends with the terminal
	watch.start()
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":1}`)
	cluster.Until("it is drawn in colour", func() bool { return strings.Contains(screen.String(), "demo/web  \x1b[38;5;28mrunning\x1b[39m") })
	watch.signal(syscall.SIGINT)
	<-watch.ended
	const entered, left = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
	cluster.Until("the terminal is as it was, with what was drawn last", func() bool {
		drawn, after, restored := strings.Cut(screen.String(), left)
		return restored && strings.HasPrefix(drawn, entered) && strings.Contains(after, "demo/web") && !strings.Contains(after, "\x1b[H")
	})
	if code := watch.cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("Ctrl-C ends it with %d", code)
	}
}

// TestTopIsDrawnUntilPeopleQuit opens the live screen, types into it, and quits it in both ways.
func TestTopIsDrawnUntilPeopleQuit(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(1))
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":1}`)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string]int{"q": 0, "\x03": 130} {
		people, side := terminal(t)
		if err := unix.IoctlSetWinsize(int(side.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
			t.Fatal(err)
		}
		top := newProcess(t, exec.Command(path, "top", "--server", cluster.URL)) //nolint:noctx // ended by the test
		top.cmd.Stdin, top.cmd.Stdout, top.cmd.Env = side, side, append(os.Environ(), "TERM=xterm", "NO_COLOR=1")
		var screen safeBuffer
		go io.Copy(&screen, people) //nolint:errcheck // it ends with the terminal
		top.start()
		for _, what := range []string{"node-0", "demo/web", "running", "instance.online", "q quit"} {
			cluster.Until("it shows "+what, func() bool { return strings.Contains(screen.String(), what) })
		}
		if _, err := people.WriteString(typed); err != nil {
			t.Fatal(err)
		}
		<-top.ended
		cluster.Until("the terminal is as it was", func() bool {
			return strings.LastIndex(screen.String(), "\x1b[?1049l") > strings.LastIndex(screen.String(), "\x1b[?1049h")
		})
		if code := top.cmd.ProcessState.ExitCode(); code != want {
			t.Errorf("%q ends it with %d, want %d", typed, code, want)
		}
	}
	if out, code := rookery(t, "top", "--server", cluster.URL); code != 2 || !strings.Contains(out, "top needs a terminal") {
		t.Errorf("without a terminal it ends with %d: %s", code, out)
	}
}
