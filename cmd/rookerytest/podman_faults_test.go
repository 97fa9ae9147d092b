package rookerytest_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// TestPodmanAsItIs injects faults into a real Podman, one after the other. After each fault the node has what it was ordered to have,
// nothing from before is left, and no foreign container was touched.
func TestPodmanAsItIs(t *testing.T) {
	t.Parallel()
	r := startReal(t, "--answer-timeout", "5s", "--allow-host-port", "1024-65535")
	r.plantForeign()
	before := r.foreign()
	for _, fault := range []struct {
		name string
		run  func(*testing.T, *realNode)
	}{
		{"the service is killed in the middle of a stop", faultStop},
		{"the service is killed as a container was created", faultCreated},
		{"the monitor is stopped", faultMonitorStopped},
		{"the monitor is killed", faultMonitorKilled},
		{"the name is taken", faultName},
		{"the port is taken", faultPort},
		{"the image vanishes", faultImage},
		{"the host reboots", faultReboot},
		{"the storage is full", faultStorage}, // mounts another storage, and so is last
	} {
		t.Run(fault.name, func(t *testing.T) {
			fault.run(t, r)
			r.untilOthersAlone(t)
			if after := r.foreign(); !slices.Equal(before, after) {
				t.Errorf("the containers of others were\n%q\nand are\n%q", before, after)
			}
		})
	}
	r.CheckReplay()
}

const faulty = "demo/faulty"

// webOf is the spec of the example at a scale, with more fields.
func webOf(scale int, fields string) string {
	return fmt.Sprintf(`{"image":%q,"scale":%d,"stop_grace":"6s","ports":[{"name":"http","port":8080}]%s}`, podmantest.WebReference, scale, fields)
}

// must runs the private Podman's own command.
func (r *realNode) must(t testing.TB, args ...string) string {
	t.Helper()
	out, err := podmantest.Podman(r.uri, args...)
	if err != nil {
		t.Fatalf("podman %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// plantForeign makes containers that look like the node's own in part.
func (r *realNode) plantForeign() {
	r.t.Helper()
	ours := []string{
		node.LabelCluster + "=" + r.owner.Cluster, node.LabelNode + "=" + r.owner.Node, node.LabelNamespace + "=demo", node.LabelService + "=faulty",
		node.LabelOrdinal + "=0", node.LabelGeneration + "=1", node.LabelAttempt + "=0", node.LabelRevision + "=1",
	}
	other := func(i int, label string) []string {
		labels := slices.Clone(ours)
		labels[i] = label
		return labels
	}
	for name, labels := range map[string][]string{
		"f-bare": nil, "f-cluster": other(0, node.LabelCluster+"=another"), "f-node": other(1, node.LabelNode+"=other"),
		"f-half": ours[2:], "f-node-alone": ours[1:2],
	} {
		args := []string{"run", "--detach", "--restart", "no", "--network", "none", "--name", name}
		for _, label := range labels {
			args = append(args, "--label", label)
		}
		r.must(r.t, append(args, podmantest.WebReference)...)
	}
}

// untilOthersAlone waits until an audit finds nothing but the one container that is another node's of the cluster.
func (r *realNode) untilOthersAlone(t testing.TB) {
	t.Helper()
	last := ""
	defer func() {
		if last != "" {
			t.Errorf("the last audit found %s", last)
		}
	}()
	r.Until("an audit of labels finds nothing", func() bool {
		found := audit(t, r.Cluster, r.audited())
		found.orphans = slices.DeleteFunc(found.orphans, func(what string) bool { return strings.HasPrefix(what, "container f-node ") })
		last = found.String()
		if found.clean() {
			last = ""
		}
		return last == ""
	})
}

// foreign lists the containers of others, with what they are.
func (r *realNode) foreign() []string {
	r.t.Helper()
	all := strings.Split(r.must(r.t, "ps", "--all", "--no-trunc", "--filter", "name=^f-", "--format", "{{.Names}} {{.ID}} {{.Exited}}"), "\n")
	slices.Sort(all)
	return all
}

// only returns the one container of the service that runs.
func (r *realNode) only(t testing.TB) node.Container {
	t.Helper()
	running := slices.Collect(maps.Values(r.running()))
	if len(running) != 1 {
		t.Fatalf("%d containers run, want 1", len(running))
	}
	return running[0]
}

// next listens for an event of the service. The function that it returns waits for that event.
func (r *realNode) next(t testing.TB, word string) func() string {
	t.Helper()
	heard, err := r.Bus().Subscribe(events.EventRoot + ".service.demo.faulty." + word)
	if err != nil {
		t.Fatal(err)
	}
	return func() string {
		defer heard.Stop()
		body := ""
		r.Until("there is "+word, func() bool {
			select {
			case m := <-heard.Messages():
				body = string(m.Body)
				return true
			default:
				return false
			}
		})
		return body
	}
}

func (r *realNode) drop() { r.Command(faulty, "drop", `{}`) }

func (r *realNode) succeeds(t testing.TB, sequence uint64) {
	t.Helper()
	if outcome := r.Outcome(sequence); outcome.Outcome != "succeeded" {
		t.Errorf("the command ended as %+v", outcome)
	}
}

func faultStop(t *testing.T, r *realNode) {
	r.Ensure(faulty, webOf(1, `,"args":["-ignore-term"]`))
	c := r.only(t)
	r.visit(c.Ports[0].HostPort)
	dropped := r.Publish(faulty, "drop", `{}`)
	r.Until("Podman stops it", func() bool { return podmantest.StateOf(t, r.uri, c.Handle).Status == "stopping" })
	podmantest.KillService(t, r.uri)
	if state := podmantest.StateOf(t, r.uri, c.Handle); state.Status != "stopping" {
		t.Errorf("without a service the container is %+v, want that it is stuck in its stop", state)
	}
	podmantest.RestartService(t, r.uri)
	r.succeeds(t, dropped)
}

func faultCreated(t *testing.T, r *realNode) {
	prepared := r.next(t, "instance.prepared")
	ensured := r.Publish(faulty, "ensure", webOf(4, ""))
	prepared()
	podmantest.KillService(t, r.uri)
	t.Logf("without a service there is %q", r.must(t, "ps", "--all", "--filter", "label="+node.LabelService+"=faulty", "--format", "{{.State}}"))
	podmantest.RestartService(t, r.uri)
	r.succeeds(t, ensured)
	r.drop()
}

func faultMonitorStopped(t *testing.T, r *realNode) {
	r.Ensure(faulty, webOf(1, ""))
	c := r.only(t)
	monitor := podmantest.StateOf(t, r.uri, c.Handle).ConmonPid
	if err := syscall.Kill(monitor, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.drop() // a stopped process ends at SIGKILL alone: what is left of it goes with its container
}

func faultMonitorKilled(t *testing.T, r *realNode) {
	r.Ensure(faulty, webOf(1, ""))
	c := r.only(t)
	if err := syscall.Kill(podmantest.StateOf(t, r.uri, c.Handle).ConmonPid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.visit(c.Ports[0].HostPort) // it lives on
	podmantest.Kill(t, r.uri, c.Handle)
	r.Until("another attempt runs", func() bool {
		for _, now := range r.running() {
			return now.Handle != c.Handle && now.Attempt > c.Attempt
		}
		return false
	})
	r.drop()
}

func faultName(t *testing.T, r *realNode) {
	generation := r.Replay(func([]events.Record) {}).GenerationFloor + 1
	name := node.Plan{Owner: r.owner, Instance: events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "faulty"}, Generation: generation}}.Name()
	r.must(t, "create", "--name", name, "--network", "none", podmantest.WebReference)
	offline := r.next(t, "instance.offline")
	ensured := r.Publish(faulty, "ensure", webOf(1, ""))
	if said := offline(); !strings.Contains(said, "create-failed") || !strings.Contains(said, name+" is not ours") {
		t.Errorf("of the name that is taken is said %s", said)
	}
	r.must(t, "container", "exists", name)
	r.must(t, "rm", name)
	r.succeeds(t, ensured)
	r.drop()
}

func faultPort(t *testing.T, r *realNode) {
	port := freePorts(t)
	r.must(t, "run", "--detach", "--name", "squatter", "--publish", fmt.Sprintf("127.0.0.1:%d:8080", port), podmantest.WebReference)
	offline := r.next(t, "instance.offline")
	ensured := r.Publish(faulty, "ensure", fmt.Sprintf(`{"image":%q,"stop_grace":"1s","ports":[{"name":"http","port":8080,"host_port":%d}]}`,
		podmantest.WebReference, port))
	if said := offline(); !strings.Contains(said, "port-conflict") {
		t.Errorf("of the port that is taken is said %s", said)
	}
	r.must(t, "rm", "--force", "--time", "0", "squatter")
	r.succeeds(t, ensured)
	r.drop()
}

// faultImage removes the image by force, which takes its containers with it.
func faultImage(t *testing.T, r *realNode) {
	const other = "localhost/rookery-other:test"
	r.must(t, "tag", podmantest.WebReference, other)
	archive := filepath.Join(t.TempDir(), "web.tar")
	r.must(t, "save", "--output", archive, other)
	r.Ensure(faulty, strings.ReplaceAll(webOf(1, ""), podmantest.WebReference, other))
	c := r.only(t)
	offline := r.next(t, "instance.offline")
	r.must(t, "untag", other, other)
	podmantest.Kill(t, r.uri, c.Handle)
	r.Until("Podman removes it", func() bool { // which it refuses while what ends the container is under way
		_, err := podmantest.Podman(r.uri, "rm", "--force", "--time", "0", "--ignore", c.Handle)
		return err == nil
	})
	said := offline()
	for !strings.Contains(said, "image-pull") {
		said = r.next(t, "instance.offline")()
	}
	t.Logf("of the image that is gone is said %s", said)
	r.must(t, "load", "--input", archive)
	r.Until("it runs again", func() bool { return len(r.running()) == 1 })
	r.drop()
	r.must(t, "untag", other, other)
}

// faultReboot reboots the host: the node adopts its containers and starts them again. By then Podman lists them as created and not started,
// and the log has them under an earlier node epoch. That does not count as a failure of the instance, nor as a restart.
func faultReboot(t *testing.T, r *realNode) {
	r.Ensure(faulty, webOf(2, ""))
	before := r.running()
	r.node.kill()
	podmantest.Reboot(t, r.uri)
	if left := r.running(); len(left) != 0 {
		t.Errorf("after the reboot %d containers run", len(left))
	}
	for _, line := range r.foreign() {
		r.must(t, "start", strings.Fields(line)[0]) // only the test does
	}
	r.startNode()
	r.Until("all run again", func() bool { return len(r.running()) == len(before) })
	for id, c := range r.running() {
		if c.Handle != before[id].Handle {
			t.Errorf("%s was container %.12s and is %.12s, want that it was adopted", id, before[id].Handle, c.Handle)
		}
		r.visit(c.Ports[0].HostPort)
	}
	r.drop()
}

func faultStorage(t *testing.T, r *realNode) {
	storage := podmantest.ShrinkStorage(t, r.uri, 64<<20)
	for _, line := range r.foreign() {
		if !strings.HasSuffix(line, "false") {
			t.Errorf("with another storage there is %s", line)
		}
	}
	filler := filepath.Join(storage, "filler")
	takeAll(t, filler)
	offline := r.next(t, "instance.offline")
	ensured := r.Publish(faulty, "ensure", webOf(1, ""))
	if said := offline(); !strings.Contains(said, "no space left on device") {
		t.Errorf("of the storage that is full is said %s", said)
	}
	if shown := r.shown(); shown.State == "silent" {
		t.Error("the node is silent")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	r.succeeds(t, ensured)
	r.drop()
}

// takeAll makes a file that takes all that is left of the disk.
func takeAll(t testing.TB, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 1<<16); err == nil; {
		if _, err = f.Write(block); err != nil && len(block) > 1 {
			block, err = block[:len(block)/2], nil
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
