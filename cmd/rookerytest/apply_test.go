package rookerytest_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events/bus"
)

// applied is what `rookery apply --output json` prints.
type applied struct {
	Steps []struct {
		Service, Action, Note string
		Fields                []struct {
			Field    string
			Old, New any
		}
		Command uint64
		Fate    struct{ Outcome string }
	}
}

// does tells the plan's actions in one line.
func (a applied) does() string {
	words := make([]string, len(a.Steps))
	for i, s := range a.Steps {
		words[i] = s.Action + " " + strings.TrimPrefix(s.Service, "demo/")
		for _, f := range s.Fields {
			if s.Action == "change" {
				words[i] += " " + f.Field
			}
		}
	}
	return strings.Join(words, ", ")
}

// apply runs the program for the namespace demo on a file with these services, and returns what it prints and its exit code.
func apply(t *testing.T, cluster *rookerytest.Cluster, services string, args ...string) (string, int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "services.json")
	if err := os.WriteFile(file, []byte(services), 0o600); err != nil {
		t.Fatal(err)
	}
	return rookery(t, append([]string{"apply", "demo", file, "--server", cluster.URL}, args...)...)
}

// applyAll carries the plan out and returns it.
func applyAll(t *testing.T, cluster *rookerytest.Cluster, services string, args ...string) applied {
	t.Helper()
	out, code := apply(t, cluster, services, append(args, "--yes", "--output", "json")...)
	if code != 0 {
		t.Fatalf("apply %v: exit %d: %s", args, code, out)
	}
	var a applied
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return a
}

// stored returns how many commands were ever published.
func stored(t *testing.T, cluster *rookerytest.Cluster) uint64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	state, err := cluster.Bus().State(ctx, bus.Commands)
	if err != nil {
		t.Fatal(err)
	}
	return state.Last
}

const (
	listedWeb = `"web":{"image":"localhost/web:1","scale":2,"env":{"MODE":"a"},"ports":[{"name":"http","port":8080}]}`
	listedDB  = `"db":{"image":"localhost/db:1"}`
)

// TestApplyHasWhatTheFilesList follows a namespace from nothing to its last service. Apply sends no command for a service that already is
// as its file says, and each plan names the changes.
func TestApplyHasWhatTheFilesList(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/old", `{"image":"localhost/old:1"}`)
	cluster.Ensure("other/old", `{"image":"localhost/old:1"}`)
	both := "{" + listedWeb + "," + listedDB + "}"
	changed := strings.ReplaceAll(strings.ReplaceAll(both, `"a"`, `"b"`), `"scale":2`, `"scale":3`)
	for _, c := range []struct {
		services string
		args     []string
		want     string
		commands uint64
	}{
		{both, nil, "create db, create web, leave old", 2},
		{both, nil, "unchanged db, unchanged web, leave old", 0},
		{changed, nil, "change web env.MODE scale, unchanged db, leave old", 1},
		{changed, []string{"--prune"}, "unchanged db, unchanged web, drop old", 1},
		{"{" + listedDB + "}", []string{"--prune"}, "unchanged db, drop web", 1},
		{"{}", []string{"--prune"}, "drop db", 1},
		{"{}", []string{"--prune"}, "", 0},
	} {
		before := stored(t, cluster)
		got := applyAll(t, cluster, c.services, c.args...)
		if got.does() != c.want {
			t.Errorf("the plan is %q, want %q", got.does(), c.want)
		}
		if n := stored(t, cluster) - before; n != c.commands {
			t.Errorf("%q published %d commands, want %d", c.want, n, c.commands)
		}
		for _, s := range got.Steps {
			if (s.Command > 0) != (s.Fate.Outcome == "succeeded") {
				t.Errorf("%s is left as %+v", s.Service, s)
			}
		}
	}
	if state := cluster.State(); state.Services != 1 {
		t.Errorf("there are %d services, want the one of the other namespace", state.Services)
	}
	cluster.CheckReplay()
}

// TestApplyWaitsForViewsThatAreBehindTheLog takes a service from the views: what is not shown there is not created again.
func TestApplyWaitsForViewsThatAreBehindTheLog(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	applyAll(t, cluster, "{"+listedWeb+"}")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	services, err := cluster.Bus().Bucket(ctx, bus.BucketServices)
	if err != nil {
		t.Fatal(err)
	}
	cluster.Until("the service is taken from the views", func() bool { // the leader may write it once more meanwhile
		shown, err := services.Get(ctx, "demo.web")
		return err == nil && services.Delete(ctx, shown.Key, shown.Revision) == nil
	})
	if got := applyAll(t, cluster, "{"+listedWeb+"}").does(); got != "unchanged web" {
		t.Errorf("the plan is %q", got)
	}
}

func TestApplySaysWhatChanges(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	applyAll(t, cluster, "{"+listedWeb+"}")
	before := stored(t, cluster)
	out, code := apply(t, cluster, `{"web":{"image":"localhost/web:2","env":{"MODE":"a","MORE":"1"},"ports":[{"name":"http","port":8081}]}}`)
	if code != 2 || stored(t, cluster) != before {
		t.Errorf("without a terminal and --yes: exit %d and %d commands: %s", code, stored(t, cluster)-before, out)
	}
	for _, want := range []string{
		"demo/web  change", `env.MORE: none → "1"`, `image: "localhost/web:1" → "localhost/web:2"`, "ports[0].port: 8080 → 8081",
		"1 to change", "give --yes",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not said:\n%s", want, out)
		}
	}
	if strings.Contains(out, "scale") {
		t.Errorf("a scale that is not given is kept:\n%s", out)
	}
	if out, code := apply(t, cluster, "{"+listedWeb+"}"); code != 0 || !strings.Contains(out, "nothing to do") {
		t.Errorf("where all is so: exit %d: %s", code, out)
	}
}

// TestApplySetsThePolicy applies a file with the policy of the cluster and a service, again, and one with the policy alone.
func TestApplySetsThePolicy(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	file := filepath.Join(t.TempDir(), "demo.yaml")
	const policy = "kind: policy\nname: cluster\nprofile: "
	for _, c := range []struct {
		content  string
		code     int
		want     string
		commands uint64
	}{
		{policy + "optimize-utilization\n---\nkind: service\nname: demo/db\nimage: localhost/db:1\n", 0, `profile: "distribute-load" → "optimize-utilization"`, 2},
		{policy + "optimize-utilization\n", 0, "policy of the cluster: unchanged\nnothing to do", 0},
		{policy + "distribute-load\n", 0, "policy: command 3 succeeded", 1},
		{policy + "distribute-load\n---\n" + policy + "distribute-load\n", 1, "document 2: an earlier document is the policy too", 0},
		{"kind: policy\nname: mine\n", 1, "write name: cluster", 0},
		{policy + "none\n", 1, `"none"`, 0},
	} {
		before := stored(t, cluster)
		if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		out, code := rookery(t, "apply", "-f", file, "--server", cluster.URL, "--yes")
		if n := stored(t, cluster) - before; code != c.code || n != c.commands || !strings.Contains(out, c.want) {
			t.Errorf("%q: exit %d with %d commands, want %d with %d and %q:\n%s", c.content, code, n, c.code, c.commands, c.want, out)
		}
	}
	if out, _ := rookery(t, "policy", "get", "--server", cluster.URL); !strings.Contains(out, "profile: distribute-load") {
		t.Errorf("the policy is\n%s", out)
	}
}

func TestApplyChecksAllBeforeItAsks(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	good := filepath.Join(t.TempDir(), "good.json")
	if err := os.WriteFile(good, []byte("{"+listedDB+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ services, want string }{
		{`{"web":{"imag":"a"}}`, `services.json: web.imag: there is no field "imag": did you mean "image"?`},
		{`{"web":{"image":"a","ports":[{"name":"http"}]}}`, "services.json: web.ports[0].port: ports[0].port must be 1 to 65535"},
		{"{" + listedDB + "}", "good.json: db is in "},
		{`{"image":"a"}`, "services.json: it is the spec of one service: write kind: service and name: NAMESPACE/NAME into it"},
		{`{"web":{"image":"a"},}`, "services.json: the body is not JSON"},
	} {
		out, code := apply(t, cluster, c.services, good, "--yes")
		if code != 1 || !strings.Contains(out, c.want) {
			t.Errorf("exit %d, want %q: %s", code, c.want, out)
		}
	}
	if n := stored(t, cluster); n != 0 {
		t.Errorf("%d commands were published", n)
	}
}

// TestApplyKeepsWhatItWouldDropWhereACommandFails lets a busy service reject one command of the plan.
func TestApplyKeepsWhatItWouldDropWhereACommandFails(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/old", `{"image":"localhost/old:1"}`)
	cluster.Publish("demo/web", "ensure", `{"image":"localhost/web:1","requests":{"memory":"900GiB"}}`)
	cluster.Until("it waits for a node", func() bool {
		out, _ := rookery(t, "ps", "--server", cluster.URL)
		return strings.Contains(out, "pending")
	})
	out, code := apply(t, cluster, "{"+listedWeb+","+listedDB+"}", "--prune", "--yes")
	for _, want := range []string{"command 2 has not ended: wait", "demo/web: command 4 was rejected (busy)", "demo/db: command 3 succeeded", "demo/old: not dropped"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not said:\n%s", want, out)
		}
	}
	if code != 3 || stored(t, cluster) != 4 {
		t.Errorf("exit %d, and %d commands", code, stored(t, cluster))
	}
}

func TestApplyStopsWaitingAndSaysWhatGoesOn(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	file := filepath.Join(t.TempDir(), "services.json")
	const waits = `{"image":"localhost/x:1","requests":{"memory":"900GiB"}}` // for a node
	if err := os.WriteFile(file, []byte(`{"web":`+waits+`,"db":`+waits+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startProcess(t, "apply", "demo", file, "--yes", "--server", cluster.URL)
	cluster.Until("both are stored", func() bool { return strings.Contains(p.output.String(), "demo/web: command 2 is stored") })
	p.signal(syscall.SIGINT)
	<-p.ended
	if code, out := p.cmd.ProcessState.ExitCode(), p.output.String(); code != 130 ||
		!strings.Contains(out, "these commands continue: 1 (demo/db), 2 (demo/web)") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestApplyAsksOnATerminal answers the question of apply as an operator does. Apply does not overwrite a change that another client makes
// while it waits for the answer.
func TestApplyAsksOnATerminal(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	file := filepath.Join(t.TempDir(), "services.json")
	if err := os.WriteFile(file, []byte("{"+listedDB+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	answer := func(text string, meanwhile func()) (string, int) {
		people, side := terminal(t)
		p := newProcess(t, exec.Command(path, "apply", "demo", file, "--server", cluster.URL)) //nolint:noctx // ended by the test
		p.cmd.Stdin, p.cmd.Stdout = side, p.output
		p.start()
		cluster.Until("it asks", func() bool { return strings.Contains(p.output.String(), "Carry out this plan? [y/N] ") })
		meanwhile()
		if _, err := people.WriteString(text); err != nil {
			t.Fatal(err)
		}
		<-p.ended
		return p.output.String(), p.cmd.ProcessState.ExitCode()
	}
	if out, code := answer("\n", func() {}); code != 1 || stored(t, cluster) != 0 {
		t.Errorf("no is the default: exit %d, %d commands: %s", code, stored(t, cluster), out)
	}
	out, code := answer("y\n", func() { cluster.Ensure("demo/db", `{"image":"localhost/db:9"}`) })
	if code != 1 || !strings.Contains(out, "demo/db since the plan was made") || stored(t, cluster) != 1 {
		t.Errorf("another command in between: exit %d, %d commands: %s", code, stored(t, cluster), out)
	}
	if out, code := answer("y\n", func() {}); code != 0 || stored(t, cluster) != 2 {
		t.Errorf("yes: exit %d, %d commands: %s", code, stored(t, cluster), out)
	}
}
