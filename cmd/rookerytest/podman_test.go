package rookerytest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// natsCLI builds the nats CLI, the client that operators use.
var natsCLI = sync.OnceValues(func() (string, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("make", "-C", root, "nats").CombinedOutput()
	if err != nil {
		return "", &buildError{string(out)}
	}
	return filepath.Join(root, ".bin", "nats"), nil
})

// runNATS runs the nats CLI against the cluster and returns what it prints.
func runNATS(t testing.TB, cluster *rookerytest.Cluster, args ...string) string {
	t.Helper()
	path, err := natsCLI()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, append([]string{"--server", cluster.URL}, args...)...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("nats %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// realNode is a cluster whose one node is a process of its own on a real Podman.
type realNode struct {
	*rookerytest.Cluster
	t      testing.TB
	uri    string
	engine *podman.Engine
	owner  node.Owner
	node   *process
	ports  string
	flags  []string // more of the node's
	env    []string // of the node; the test's own where it is nil
}

func startReal(t testing.TB, flags ...string) *realNode {
	t.Helper()
	r := newReal(t)
	r.flags = flags
	r.Cluster = startCluster(t, rookerytest.WithNodes(0), rookerytest.WithLog(t.Output()))
	r.join()
	return r
}

// newReal returns a real Podman, without a cluster yet.
func newReal(t testing.TB) *realNode {
	t.Helper()
	r := &realNode{t: t, uri: podmantest.Start(t)}
	podmantest.LoadWeb(t, r.uri)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var err error
	if r.engine, err = podman.Connect(ctx, r.uri); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.engine.Close)
	r.ports = freePortRange(t)
	return r
}

// join makes the node the first of the cluster.
func (r *realNode) join() {
	r.t.Helper()
	r.startNode()
	// Before its first round a cluster has no identity, and the test would look for containers of no cluster.
	r.Until("the cluster is founded", func() bool { return r.State().Log != "" })
	r.owner = node.Owner{Cluster: r.State().Log, Node: "edge"}
}

func (r *realNode) startNode() {
	args := []string{"node", "--server", r.URL, "--podman", r.uri, "--name", "edge", "--ports", r.ports, "--heartbeat", "500ms"}
	r.node = startProcessIn(r.t, r.env, append(args, r.flags...)...)
}

// running returns the node's running containers by instance.
func (r *realNode) running() map[events.InstanceID]node.Container {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	all, err := r.engine.List(ctx, r.owner)
	if err != nil {
		r.t.Fatal(err)
	}
	running := map[events.InstanceID]node.Container{}
	for _, c := range all {
		if _, twice := running[c.Instance]; twice {
			r.t.Errorf("%s has two containers", c.Instance)
		}
		if c.State == node.Running {
			running[c.Instance] = c
		}
	}
	return running
}

// podman runs the private Podman's own command, and returns what it prints.
func (r *realNode) podman(args ...string) (string, error) {
	path := filepath.Join(filepath.Dir(strings.TrimPrefix(r.uri, "unix://")), "podman")
	out, err := exec.CommandContext(r.t.Context(), path, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// visit asks an instance over HTTP, trying again until it answers.
func (r *realNode) visit(port uint16) string {
	r.t.Helper()
	var body []byte
	r.Until(fmt.Sprintf("port %d answers", port), func() bool {
		request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", port), nil)
		if err != nil {
			r.t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		body, err = io.ReadAll(response.Body)
		err = errors.Join(err, response.Body.Close())
		return err == nil && response.StatusCode == http.StatusOK
	})
	return string(body)
}

// TestNatsCLIDrivesPodman does the main job as an operator does it with the nats CLI alone, in the three forms of a command.
func TestNatsCLIDrivesPodman(t *testing.T) {
	t.Parallel()
	r := startReal(t)
	r.Ensure("demo/web", `{"image":"`+podmantest.WebReference+`","scale":3,"stop_grace":"2s","ports":[{"name":"http","port":8080}]}`)
	seen, err := r.Bus().Subscribe(events.EventRoot + ".service.demo.web.>")
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Stop()
	watching := r.watch()
	const subject = "rookery.cmd.service.demo.web.scale"
	const kind = "io.rookery.service.v1.scale"
	forms := []struct {
		name  string
		scale int
		args  []string
	}{
		{"bare", 5, []string{"req", subject, `{"scale":5}`}},
		{"structured", 2, []string{
			"pub", "-J", subject, "-H", "Content-Type:application/cloudevents+json",
			`{"specversion":"1.0","id":"01JX","source":"/cli/me","type":"` + kind + `","datacontenttype":"application/json","data":{"scale":2}}`,
		}},
		{"binary", 4, []string{
			"pub", "-J", subject, "-H", "ce-specversion:1.0", "-H", "ce-id:01JZ", "-H", "ce-source:/cli/me", "-H", "ce-type:" + kind,
			"-H", "ce-datacontenttype:application/json", `{"scale":4}`,
		}},
	}
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			out := runNATS(t, r.Cluster, form.args...)
			if !strings.Contains(out, "ROOKERY_COMMANDS") {
				t.Errorf("the nats CLI shows no acknowledgement:\n%s", out)
			}
			r.untilSucceeded(t, seen.Messages())
			running := r.running()
			if len(running) != form.scale {
				t.Errorf("%d containers run, want %d", len(running), form.scale)
			}
			for id, c := range running {
				if got, want := r.visit(c.Ports[0].HostPort), fmt.Sprintf("demo/web ordinal %d generation %d", id.Ordinal, id.Generation); !strings.HasPrefix(got, want) {
					t.Errorf("port %d answers %q, want %q", c.Ports[0].HostPort, got, want)
				}
			}
		})
	}
	for _, word := range []string{
		"command.accepted", "service.scaled", "instance.placed", "instance.prepared", "instance.started", "instance.online",
		"instance.retired", "instance.removed", "command.succeeded",
	} {
		watching.says(r.Cluster, "demo.web."+scoped(word))
	}
	if out := runNATS(t, r.Cluster, "kv", "ls", "rookery_services"); !strings.Contains(out, "demo.web") {
		t.Errorf("nats kv ls rookery_services shows no demo.web:\n%s", out)
	}
	if out := runNATS(t, r.Cluster, "micro", "ls"); !strings.Contains(out, "rookery") {
		t.Errorf("nats micro ls shows no rookery:\n%s", out)
	}
	r.Command("demo/web", "drop", `{}`)
	if left := r.running(); len(left) > 0 {
		t.Errorf("still running after drop: %v", slices.Collect(maps.Keys(left)))
	}
	r.CheckReplay()
}

// scoped is how the word of an event stands in a subject below its service.
func scoped(word string) string { return strings.TrimPrefix(word, "service.") }

// watch makes the nats CLI print the events of the service.
func (r *realNode) watch() *process {
	r.t.Helper()
	path, err := natsCLI()
	if err != nil {
		r.t.Fatal(err)
	}
	p := newProcess(r.t, exec.Command(path, "--server", r.URL, "sub", "rookery.event.service.demo.web.>")) //nolint:noctx // ended by the test
	p.cmd.Env = []string{"HOME=" + r.t.TempDir(), "PATH=/usr/bin:/bin"}
	p.cmd.Stdout = p.output
	p.start()
	p.says(r.Cluster, "Subscribing on")
	return p
}

// untilSucceeded takes the events of one command to its success: accepted first, and each instance that was placed
// online before the end.
func (r *realNode) untilSucceeded(t *testing.T, seen <-chan events.Message) {
	t.Helper()
	var words []string
	for {
		select {
		case m := <-seen:
			data, _, err := events.Decode(m)
			if err != nil {
				t.Fatal(err)
			}
			words = append(words, data.Kind().Word())
			switch data.Kind().Word() {
			case "command.succeeded":
				if words[0] != "command.accepted" {
					t.Errorf("the events are %v, want command.accepted first", words)
				}
				return
			case "command.failed", "command.rejected", "command.superseded":
				t.Fatalf("the command ended as %s: %s", data.Kind().Word(), m.Body)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no end within a minute; the events are %v", words)
		}
	}
}

// TestKilledContainersAndNodes kills a container's process and the node's own with SIGKILL, on the real Podman.
func TestKilledContainersAndNodes(t *testing.T) {
	t.Parallel()
	r := startReal(t)
	r.Ensure("demo/web", `{"image":"`+podmantest.WebReference+`","scale":3,"stop_grace":"2s","restart":{"delay":"1s"},"ports":[{"name":"http","port":8080}]}`)
	before := r.running()
	victim := slices.SortedFunc(maps.Keys(before), events.InstanceID.Compare)[0]
	podmantest.Kill(t, r.uri, before[victim].Handle)
	r.Until("the killed container is replaced", func() bool {
		now, ok := r.running()[victim]
		return ok && now.Handle != before[victim].Handle && now.Attempt == before[victim].Attempt+1
	})
	r.visit(before[victim].Ports[0].HostPort)

	before = r.running()
	r.node.kill()
	if during := r.running(); len(during) != 3 {
		t.Fatalf("%d containers live on without the node's process, want 3", len(during))
	}
	r.startNode()
	r.Command("demo/web", "scale", `{"scale":4}`)
	after := r.running()
	for id, c := range before {
		if after[id].Handle != c.Handle {
			t.Errorf("%s was container %.12s and is %.12s: not adopted", id, c.Handle, after[id].Handle)
		}
	}
	if len(after) != 4 {
		t.Errorf("%d containers run, want 4", len(after))
	}
	r.node.signal(syscall.SIGTERM)
	<-r.node.ended
	if len(r.running()) != 4 {
		t.Errorf("%d containers live on after the node was ended, want 4", len(r.running()))
	}
	r.startNode()
	r.Command("demo/web", "drop", `{}`)
	r.CheckReplay()
}
