package rookerytest_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// tick is a line of an instance that prints one after the other, with its ordinal and its number.
var tick = regexp.MustCompile(`(?m)^(\d+)\.1 +\| tick (\d+)$`)

// ticks are the numbers of the lines that were printed of each ordinal, in order.
func ticks(output string) map[int][]int {
	all := map[int][]int{}
	for _, m := range tick.FindAllStringSubmatch(output, -1) {
		ordinal, _ := strconv.Atoi(m[1])
		number, _ := strconv.Atoi(m[2])
		all[ordinal] = append(all[ordinal], number)
	}
	return all
}

// TestLogsOfPodmanHostsGoOnWithoutOne follows a service of 20 over three hosts while one host is cut off and comes back. The lines of the
// other hosts keep coming. In the end each line of each instance was printed once.
func TestLogsOfPodmanHostsGoOnWithoutOne(t *testing.T) {
	t.Parallel()
	const scale, more = 20, 4
	r := startRegion(t, "attic-1", "barn-1", "cellar-1")
	ask(t, r.Cluster, "rookery.cmd.cluster.policy", `{"liveness":{"lost_after":"10m"}}`)
	r.Ensure("demo/web", fmt.Sprintf(`{"image":%q,"scale":%d,"args":["-every","500ms"],"max_per_node":7,"stop_grace":"1s"}`, podmantest.WebReference, scale))
	p := startProcess(t, "logs", "demo/web", "--follow", "--server", r.URL)
	r.Until("every instance has printed", func() bool { return len(ticks(p.output.String())) == scale })

	barn, away := r.hosts[1], map[int]bool{}
	for _, i := range r.instances() {
		away[int(i.Ordinal)] = i.Node == barn.name
	}
	rules := [][]string{{"INPUT", "--in-interface", "eth0"}, {"OUTPUT", "--out-interface", "eth0"}}
	for _, rule := range rules {
		barn.sh(append(append([]string{"iptables", "--wait", "--insert"}, rule...), "--jump", "DROP")...)
	}
	at := ticks(p.output.String())
	p.says(r.Cluster, "node "+barn.name+" does not answer: its lines come once it does")
	goOn := func(which bool) func() bool {
		return func() bool {
			now := ticks(p.output.String())
			for ordinal, before := range at {
				if away[ordinal] == which && len(now[ordinal]) < len(before)+more {
					return false
				}
			}
			return true
		}
	}
	r.Until("those of the others go on", goOn(false))
	at = ticks(p.output.String())
	for _, rule := range rules {
		barn.sh(append(append([]string{"iptables", "--wait", "--delete"}, rule...), "--jump", "DROP")...)
	}
	r.Until("those of the host come on", goOn(true))
	p.says(r.Cluster, "node "+barn.name+" answers again")
	p.signal(syscall.SIGINT)
	<-p.ended
	if code := p.cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("after Ctrl-C it ended with %d", code)
	}
	for ordinal, numbers := range ticks(p.output.String()) {
		for i, n := range numbers {
			if n != i+1 {
				t.Errorf("line %d of ordinal %d is %d: %v", i+1, ordinal, n, numbers)
				break
			}
		}
	}
}

// TestExecInAPodmanContainer runs commands in a container as an operator does, with a terminal and without.
func TestExecInAPodmanContainer(t *testing.T) {
	t.Parallel()
	r := startReal(t)
	r.Ensure("demo/web", `{"image":"`+podmantest.WebReference+`","scale":1,"stop_grace":"1s"}`)
	console := []string{"exec", "--server", r.URL, "-it", "demo/web/0", "--", "/web", "-console"}
	s := onTerminal(t, 24, 80, console...)
	// On a busy host Podman sets a size late.
	has := func(size string) {
		t.Helper()
		r.Until("the terminal in the container has "+size, func() bool {
			s.types("size\r")
			return strings.Contains(s.output.String(), size)
		})
	}
	has("rows=24 columns=80")
	s.size(50, 132)
	has("rows=50 columns=132")
	s.types("exit 7\r")
	<-s.ended
	if code := s.cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("on a terminal it ended with %d", code)
	}

	for _, row := range []struct {
		command []string
		input   string
		stdout  string
		stderr  string
		code    int
	}{
		{[]string{"-i", "demo/web/0", "/web", "-console"}, "say hello\nwarn hm\nexit 3\n", "hello\n", "hm\n", 3},
		{[]string{"-i", "demo/web/0", "/web", "-console"}, "say end\n", "end\n", "", 0},
		{[]string{"demo/web/0", "/web", "-listen", "127.0.0.1:0", "-print", "20000", "-exit-after", "1ms"}, "", lines(20000), "", 0},
		{[]string{"demo/web/0", "/none"}, "", "", "", 127},
		{[]string{"demo/web/0", "/etc"}, "", "", "", 126},
	} {
		stdout, stderr, code := withInput(t, []byte(row.input), append([]string{"exec", "--server", r.URL}, row.command...)...)
		if stdout != row.stdout || !strings.Contains(stderr, row.stderr) || code != row.code || code > 125 && stderr == "" {
			t.Errorf("%q ended with %d and printed %d bytes, %q", row.command, code, len(stdout), stderr)
		}
	}

	for _, how := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		p := startProcess(t, "exec", "--server", r.URL, "demo/web/0", "--", "/web", "-listen", ":9999")
		processes := func() int {
			out, err := r.podman("top", r.handle(), "pid")
			if err != nil {
				t.Fatal(out)
			}
			return strings.Count(out, "\n")
		}
		r.Until("the command runs", func() bool { return processes() == 2 })
		p.signal(how)
		r.Until("the command has ended with "+how.String(), func() bool { return processes() == 1 })
	}
}

// lines are what the example prints that is to print this many.
func lines(count int) string {
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "line %d of %d\n", i+1, count)
	}
	return text.String()
}

// handle is the container of the only instance.
func (r *realNode) handle() string {
	for _, c := range r.running() {
		return c.Handle
	}
	r.t.Fatal("nothing runs")
	return ""
}
