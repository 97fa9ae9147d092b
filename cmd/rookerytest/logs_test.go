package rookerytest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node/simulated"
)

// printTo makes an instance print a line, on whichever node it is.
func printTo(t *testing.T, cluster *rookerytest.Cluster, ordinal, generation uint32, line string) {
	t.Helper()
	id := events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Ordinal: ordinal, Generation: generation}
	for _, engine := range cluster.Nodes {
		if engine.Print(id, line) {
			return
		}
	}
	t.Fatalf("%s runs nowhere", id)
}

// texts are the lines without their prefixes, in order.
func texts(output string) []string {
	var all []string
	for line := range strings.Lines(output) {
		_, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " | ")
		all = append(all, text)
	}
	return all
}

func TestLogsOfAServiceAreInOrderOfTime(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":6}`)
	var want []string
	for i := range uint32(60) {
		line := fmt.Sprintf("line %d", i)
		printTo(t, cluster, i*7%6, 1, line)
		want = append(want, line)
	}
	out, code := rookery(t, "logs", "demo/web", "--server", cluster.URL)
	if got := texts(out); code != 0 || !slices.Equal(got, want) {
		t.Errorf("logs ended with %d and printed\n%s", code, out)
	}
	if !strings.HasPrefix(out, "0.1   | line 0\n1.1   | line 1\n") {
		t.Errorf("the lines have no ordinals:\n%s", out)
	}
	out, _ = rookery(t, "logs", "demo/web/1", "--tail", "2", "--server", cluster.URL)
	if out != "1.1   | line 49\n1.1   | line 55\n" {
		t.Errorf("the last two lines of ordinal 1 are\n%s", out)
	}
	out, _ = rookery(t, "logs", "demo/web", "--since", "2100-01-01T00:00Z", "--server", cluster.URL)
	if out != "" {
		t.Errorf("since a time to come there is\n%s", out)
	}
	out, _ = rookery(t, "logs", "demo/web/5", "--tail", "1", "--output", "json", "--server", cluster.URL)
	var line struct {
		Text, Stream, Node  string
		Ordinal, Generation int
	}
	if err := json.Unmarshal([]byte(out), &line); err != nil || line.Text != "line 59" || line.Stream != "stdout" || line.Ordinal != 5 || line.Generation != 1 || line.Node == "" {
		t.Errorf("as JSON it is %s: %v", out, err)
	}
}

func TestLogsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":2}`)
	for _, row := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"logs", "demo/wev"}, 1, "there is no service demo/wev: did you mean demo/web?"},
		{[]string{"logs", "other/thing"}, 1, "there is no service other/thing: there are demo/web; `rookery ps` lists all"},
		{[]string{"logs", "demo/web/7"}, 1, "has no ordinal 7: it has 0-1"},
		{[]string{"logs", "demo"}, 2, "write namespace/name"},
		{[]string{"logs", "demo/web", "--since", "noon"}, 2, `--since "noon"`},
		{[]string{"logs", "demo/web", "--tail", "-4"}, 2, "--tail -4 is out of range"},
		{[]string{"logs", "demo/web", "--output", "csv"}, 2, "is not text, json or yaml"},
		{[]string{"exec", "demo/web"}, 2, "exec needs an instance and a command"},
		{[]string{"exec", "demo/wev", "echo"}, 1, "did you mean demo/web?"},
		{[]string{"exec", "-t", "demo/web", "echo"}, 2, "-t needs a terminal"},
	} {
		out, code := rookery(t, append([]string{row.args[0], "--server", cluster.URL}, row.args[1:]...)...)
		if code != row.code || !strings.Contains(out, row.says) {
			t.Errorf("%q ended with %d: %s", row.args, code, out)
		}
	}
}

// TestLogsFollowAService follows the logs of a service while instances start, stop and fail, and while one node is stopped for a while.
func TestLogsFollowAService(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":3,"restart":{"delay":"100ms"},"update":{"monitor":"100ms"}}`)
	printTo(t, cluster, 0, 1, "before")
	p := startProcess(t, "logs", "demo/web", "--follow", "--server", cluster.URL)
	p.says(cluster, "0.1   | before")
	printTo(t, cluster, 1, 1, "during")
	p.says(cluster, "1.1   | during")

	cluster.Command("demo/web", "scale", `{"scale":4}`)
	printTo(t, cluster, 3, 1, "of a new instance")
	p.says(cluster, "3.1   | of a new instance")
	cluster.Command("demo/web", "ensure", `{"image":"localhost/web:2","restart":{"delay":"100ms"},"update":{"monitor":"100ms"}}`)
	for o := range uint32(4) {
		printTo(t, cluster, o, 2, fmt.Sprintf("of the second generation of %d", o))
		p.says(cluster, fmt.Sprintf("%d.2   | of the second generation of %d", o, o))
	}
	name, engine := nodeOf(t, cluster, 0, 2)
	engine.Kill(events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Generation: 2}, 1)
	cluster.Until("it is restarted", func() bool {
		return engine.Print(events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Generation: 2}, "after a restart")
	})
	p.says(cluster, "0.2   | after a restart")

	cluster.StopNode(name)
	p.says(cluster, "node "+name+" does not answer")
	printTo(t, cluster, 0, 2, "while the node was stopped")
	cluster.StartNode(name)
	p.says(cluster, "0.2   | while the node was stopped")
	p.says(cluster, "node "+name+" answers again")

	p.signal(syscall.SIGINT)
	<-p.ended
	if code := p.cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("after Ctrl-C it ended with %d", code)
	}
	for _, line := range []string{"before", "during", "of a new instance", "after a restart", "while the node was stopped"} {
		if n := strings.Count(p.output.String(), "| "+line+"\n"); n != 1 {
			t.Errorf("%q was printed %d times", line, n)
		}
	}
}

// nodeOf returns the node that has the instance, and its engine.
func nodeOf(t *testing.T, cluster *rookerytest.Cluster, ordinal, generation uint32) (string, *simulated.Engine) {
	t.Helper()
	for name, engine := range cluster.Nodes {
		for _, c := range engine.Containers() {
			if c.Instance.Ordinal == ordinal && c.Instance.Generation == generation {
				return name, engine
			}
		}
	}
	t.Fatalf("%d.%d is nowhere", ordinal, generation)
	return "", nil
}
