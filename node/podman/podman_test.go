package podman_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman"
	"github.com/rookery-project/rookery/node/podman/podmantest"
	"github.com/rookery-project/rookery/node/podman/watchdog"
)

// watching has the test's own program be the watchdog where it is begun as one.
const watching = "ROOKERY_TEST_WATCHDOG"

func TestMain(m *testing.M) {
	if os.Getenv(watching) != "" {
		listener, err := watchdog.Inherited()
		if err == nil {
			err = watchdog.Serve(context.Background(), listener)
		}
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var owner = node.Owner{Cluster: "0123456789", Node: "one"}

// bench is one private Podman with the example image, for the tests below TestEngine or one benchmark.
type bench struct {
	uri    string
	image  string
	engine *podman.Engine
	next   atomic.Uint32
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{uri: podmantest.Start(t)}
	b.image = podmantest.LoadWeb(t, b.uri)
	b.engine = connect(t, b.uri)
	return b
}

func TestEngine(t *testing.T) {
	b := newBench(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"facts", testFacts},
		{"run, adopt, stop and remove", testLife},
		{"exit code", testExitCode},
		{"what it uses", testStats},
		{"output", testOutput},
		{"kill of the process", testKill},
		{"kill of the process and its monitor", testOrphan},
		{"containers that go while they are looked at", testGoMeanwhile},
		{"stop kills after the grace", testStopGrace},
		{"stop with the monitor gone", testStopOrphan},
		{"name in use", testNameInUse},
		{"port conflict", testPortConflict},
		{"missing command", testMissingCommand},
		{"missing image", testMissingImage},
		{"foreign containers", testForeign},
		{"what the node allows", testAllowed},
		{"configs", testConfigs},
		{"restore", testRestore},
		{"restore of nothing", testRestoreEmpty},
		{"restores that are refused", testRestoreRefused},
		{"a restore that is cut short", testRestoreCut},
		{"topology", testTopology},
		{"hooks", testHooks},
		{"what comes before a stop", testBeforeStop},
		{"commands whose client goes", testExecuteLeft},
		{"watch many", testWatchMany},
		{"watch by events alone", testBlind},
		{"exclusive containers", testGuard},
		{"a service that hangs", testHang}, // stops the service, and so is last
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, b) })
	}
}

func TestConnectSaysWhatToDo(t *testing.T) {
	missing := "unix://" + filepath.Join(t.TempDir(), "podman.sock")
	for uri, want := range map[string]string{
		missing:               "podman system service --time 0 " + missing,
		"tcp://127.0.0.1:1":   "write unix://",
		"unix://podman.sock":  "write unix://",
		"/run/podman.sock":    "write unix://",
		"":                    "write unix://",
		"unix:///not\x00here": "write unix://",
	} {
		began := time.Now()
		_, err := podman.Connect(t.Context(), uri)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Connect(%q) = %v, want an error with %q", uri, err, want)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("Connect(%q) took %v", uri, took)
		}
	}
}

func testFacts(t *testing.T, b *bench) {
	facts, err := b.engine.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// By Podman's own command, and by what the machine has mounted.
	said := strings.Fields(b.podman(t, "info", "--format", "{{.Version.Version}} {{.Host.OCIRuntime.Name}} {{.Host.Security.Rootless}} {{.Host.CgroupsVersion}}"))
	if got := facts.Engine; got.Engine != "podman "+said[0] || got.Runtime != said[1] || fmt.Sprint(got.Rootless) != said[2] {
		t.Errorf("the engine is %+v, and Podman says %q", got, said)
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	cgroups := events.Cgroups(said[3])
	if cgroups == events.CgroupsV1 && strings.Contains(string(mounts), " cgroup2 ") {
		cgroups = events.CgroupsHybrid
	}
	if facts.Engine.Cgroups != cgroups {
		t.Errorf("the host has cgroups %q, want %q", facts.Engine.Cgroups, cgroups)
	}
	t.Logf("probed: %s", facts.Engine.Words())
	if facts.Capacity.CPU < 1 || facts.Capacity.Memory < 1<<20 || facts.Capacity.Disk < 1<<20 {
		t.Errorf("the capacity is %+v", facts.Capacity)
	}
}

func testLife(t *testing.T, b *bench) {
	plan := b.plan(t)
	plan.Attempt, plan.Order.Revision = 3, 7
	plan.Order.Ports = []events.PortBinding{
		{Name: "http", Port: 8080, HostPort: freePort(t), Protocol: events.TCP},
		{Name: "more", Port: 8081, HostPort: freePort(t), Protocol: events.UDP},
	}
	c := b.prepare(t, plan)
	if c.State != node.Created {
		t.Errorf("a new container is in state %d", c.State)
	}
	b.start(t, c)
	want := fmt.Sprintf("demo/web ordinal %d generation 1", plan.Instance.Ordinal)
	if got := get(t, plan.Order.Ports[0].HostPort); !strings.HasPrefix(got, want) {
		t.Errorf("the service answers %q, want %q", got, want)
	}
	if err := b.engine.Start(t.Context(), c); err != nil {
		t.Errorf("starting what runs: %v", err)
	}
	c.State = node.Running
	other := connect(t, b.uri) // a node that comes back knows nothing but what the engine lists
	listed, err := other.List(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]*node.Container{"List": one(t, listed, plan.Instance), "Inspect": b.inspect(t, plan)} {
		if got == nil || !same(*got, c) {
			t.Errorf("%s has %+v, want %+v", what, got, c)
		}
	}
	if err := b.engine.Stop(t.Context(), c, 10*time.Second); err != nil {
		t.Error(err)
	}
	if got := b.inspect(t, plan); got == nil || got.State != node.Exited || got.ExitCode != 0 {
		t.Errorf("after a stop there is %+v", got)
	}
	for range 2 {
		if err := b.engine.Stop(t.Context(), c, time.Second); err != nil {
			t.Errorf("stopping what is stopped: %v", err)
		}
	}
	for range 2 {
		if err := b.engine.Remove(t.Context(), c); err != nil {
			t.Errorf("removing: %v", err)
		}
	}
	if err := b.engine.Stop(t.Context(), c, time.Second); err != nil {
		t.Errorf("stopping what is gone: %v", err)
	}
	if got := b.inspect(t, plan); got != nil {
		t.Errorf("after a removal there is %+v", got)
	}
}

func testExitCode(t *testing.T, b *bench) {
	plan := b.plan(t, "-exit-code", "42")
	hints := b.watch(t)
	b.start(t, b.prepare(t, plan))
	hints.wait(t, plan.Instance)
	if got := b.inspect(t, plan); got == nil || got.State != node.Exited || got.ExitCode != 42 {
		t.Errorf("after an exit there is %+v, want exit code 42", got)
	}
}

func testKill(t *testing.T, b *bench) {
	plan := b.plan(t)
	hints := b.watch(t)
	c := b.prepare(t, plan)
	b.start(t, c)
	kill(t, b.pid(t, c))
	hints.wait(t, plan.Instance)
	if got := b.inspect(t, plan); got == nil || got.State != node.Exited || got.ExitCode != 137 {
		t.Errorf("after a kill there is %+v, want exit code 137", got)
	}
}

// testOrphan kills the monitor, which would record the exit. Podman then reports forever that the container runs.
func testOrphan(t *testing.T, b *bench) {
	plan := b.plan(t)
	hints := b.watch(t)
	c := b.prepare(t, plan)
	b.start(t, c)
	pid := b.pid(t, c)
	kill(t, b.monitor(t, c))
	kill(t, pid)
	hints.wait(t, plan.Instance)
	if got := b.inspect(t, plan); got == nil || got.State != node.Exited || got.ExitCode != -1 {
		t.Errorf("Inspect has %+v, want one that exited with -1", got)
	}
	listed, err := b.engine.List(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	if got := one(t, listed, plan.Instance); got == nil || got.State != node.Exited {
		t.Errorf("List has %+v, want one that exited", got)
	}
	b.remove(t, c)
}

// testGoMeanwhile looks at killed containers without a pause while they are removed: Podman finds some of them and has
// none of them a moment later.
func testGoMeanwhile(t *testing.T, b *bench) {
	const many = 12
	hints := b.watch(t)
	plans := make([]node.Plan, many)
	containers := make([]node.Container, many)
	for i := range plans {
		plans[i] = b.plan(t)
		containers[i] = b.prepare(t, plans[i])
		b.start(t, containers[i])
		kill(t, b.pid(t, containers[i]))
		hints.wait(t, plans[i].Instance)
	}
	removed := make(chan struct{})
	var looking sync.WaitGroup
	look := func(name string, at func(i int) error) {
		looking.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-removed:
					return
				default:
				}
				if err := at(i % many); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	look("List", func(int) error { _, err := b.engine.List(t.Context(), owner); return err })
	look("Inspect", func(i int) error { _, err := b.engine.Inspect(t.Context(), owner, plans[i].Instance); return err })
	look("Stop", func(i int) error { return b.engine.Stop(t.Context(), containers[i], time.Second) })
	look("Remove", func(i int) error { return b.engine.Remove(t.Context(), containers[many-1-i]) })
	for _, c := range containers {
		b.remove(t, c)
	}
	close(removed)
	looking.Wait()
}

func testStopGrace(t *testing.T, b *bench) {
	plan := b.plan(t, "-ignore-term")
	plan.Order.Ports = []events.PortBinding{{Name: "http", Port: 8080, HostPort: freePort(t), Protocol: events.TCP}}
	c := b.prepare(t, plan)
	b.start(t, c)
	get(t, plan.Order.Ports[0].HostPort) // by then it ignores what asks it to end
	began := time.Now()
	if err := b.engine.Stop(t.Context(), c, 700*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 700*time.Millisecond {
		t.Errorf("the kill came after %v, before the grace had ended", took)
	}
	if got := b.inspect(t, plan); got == nil || got.State != node.Exited || got.ExitCode != 137 {
		t.Errorf("after a stop there is %+v, want exit code 137", got)
	}
}

func testStopOrphan(t *testing.T, b *bench) {
	plan := b.plan(t)
	c := b.prepare(t, plan)
	b.start(t, c)
	kill(t, b.monitor(t, c))
	if err := b.engine.Stop(t.Context(), c, time.Second); err != nil {
		t.Error(err)
	}
	if got := b.inspect(t, plan); got == nil || got.State != node.Exited {
		t.Errorf("after a stop there is %+v, want one that exited", got)
	}
	b.remove(t, c)
}

func testNameInUse(t *testing.T, b *bench) {
	plan := b.plan(t)
	first := b.prepare(t, plan)
	if again := b.prepare(t, plan); !same(again, first) {
		t.Errorf("Prepare again gave %+v, want %+v", again, first)
	}
	later := plan
	later.Attempt++
	_, err := b.engine.Prepare(t.Context(), later)
	wantFailure(t, err, events.OfflineCreateFailed, "attempt 0 was in the way")
	second := b.prepare(t, later)
	b.start(t, second)
	_, err = b.engine.Prepare(t.Context(), plan)
	wantFailure(t, err, events.OfflineCreateFailed, "attempt 1 runs")
	b.remove(t, second)
}

func testPortConflict(t *testing.T, b *bench) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	plan := b.plan(t)
	port := uint16(listener.Addr().(*net.TCPAddr).Port)
	plan.Order.Ports = []events.PortBinding{{Name: "http", Port: 8080, HostPort: port, Protocol: events.TCP}}
	c := b.prepare(t, plan)
	wantFailure(t, b.engine.Start(t.Context(), c), events.OfflinePortConflict, "address already in use")
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	b.start(t, c)
	if got := get(t, port); !strings.HasPrefix(got, "demo/web") {
		t.Errorf("the service answers %q", got)
	}
}

func testMissingCommand(t *testing.T, b *bench) {
	plan := b.plan(t)
	plan.Order.Spec.Command = []string{"/not-there"}
	c := b.prepare(t, plan)
	wantFailure(t, b.engine.Start(t.Context(), c), events.OfflineCreateFailed, "/not-there")
	if got := b.inspect(t, plan); got == nil || got.State == node.Running {
		t.Errorf("after a failed start there is %+v", got)
	}
}

func testMissingImage(t *testing.T, b *bench) {
	for image, want := range map[string]string{
		"localhost:1/none:1": "connection refused",
		"none.invalid/x:1":   "none.invalid",
		"shortname":          "short-name",
	} {
		plan := b.plan(t)
		plan.Order.Spec.Image = image
		_, err := b.engine.Prepare(t.Context(), plan)
		wantFailure(t, err, events.OfflineImagePull, want)
	}
}

func testAllowed(t *testing.T, b *bench) {
	plan := b.plan(t, "-listen", "127.0.0.1:0")
	plan.Order.Spec.Network = events.NetworkHost
	_, err := b.engine.Prepare(t.Context(), plan)
	wantFailure(t, err, events.OfflineNotAllowed, "--allow-host-network")
	plan.Allow.HostNetwork = true
	c := b.prepare(t, plan)
	b.start(t, c)
	ours, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	if theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", b.pid(t, c))); err != nil || theirs != ours {
		t.Errorf("the container is in the network %s, not in the host's %s: %v", theirs, ours, err)
	}
}

func testForeign(t *testing.T, b *bench) {
	ours := b.plan(t)
	b.prepare(t, ours)
	for _, foreign := range []node.Owner{{Cluster: "9876543210", Node: "one"}, {Cluster: "0123456789", Node: "two"}} {
		plan := b.plan(t)
		plan.Owner = foreign
		b.prepare(t, plan)
		if got, err := b.engine.Inspect(t.Context(), owner, plan.Instance); got != nil || err != nil {
			t.Errorf("Inspect has %+v, %v of %+v", got, err, foreign)
		}
		// The other node's container has the very name: it is told, and left alone.
		if foreign.Cluster == owner.Cluster {
			plan.Owner = owner
			_, err := b.engine.Prepare(t.Context(), plan)
			wantFailure(t, err, events.OfflineCreateFailed, "is not ours")
		}
	}
	unlabelled := b.podman(t, "create", "--name", "unlabelled", b.image)
	garbled := b.podman(t, "create", "--label", node.LabelCluster+"="+owner.Cluster,
		"--label", node.LabelNode+"="+owner.Node, "--label", node.LabelOrdinal+"=x", b.image)
	listed, err := b.engine.List(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	if one(t, listed, ours.Instance) == nil {
		t.Error("our own container is not listed")
	}
	for _, c := range listed {
		if c.Handle == unlabelled || c.Handle == garbled || c.Instance.Ordinal > ours.Instance.Ordinal {
			t.Errorf("a foreign container is listed: %+v", c)
		}
	}
	b.podman(t, "rm", unlabelled, garbled)
}

func testWatchMany(t *testing.T, b *bench) {
	const many = 8
	running := b.plan(t) // runs before the watch begins
	c := b.prepare(t, running)
	b.start(t, c)
	first, second := b.watch(t), b.watch(t)
	plans := make([]node.Plan, many)
	pids := make([]int, many)
	var starting sync.WaitGroup
	for i := range plans {
		plans[i] = b.plan(t)
		starting.Go(func() {
			c, err := b.engine.Prepare(t.Context(), plans[i])
			if err == nil {
				err = b.engine.Start(t.Context(), c)
			}
			if err != nil {
				t.Error(err)
				return
			}
			pids[i] = b.pid(t, c)
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for _, pid := range append(pids, b.pid(t, c)) {
		kill(t, pid)
	}
	for _, plan := range append(plans, running) {
		first.wait(t, plan.Instance)
		second.wait(t, plan.Instance)
		if got := b.inspect(t, plan); got == nil || got.State != node.Exited || got.ExitCode != 137 {
			t.Errorf("after a kill there is %+v, want exit code 137", got)
		}
	}
}

// testBlind has an engine that does not see the processes: Podman's word is all that it has.
func testBlind(t *testing.T, b *bench) {
	blind := &bench{uri: b.uri, image: b.image, engine: connect(t, b.uri)}
	blind.engine.Blind()
	hints := blind.watch(t)
	plan := b.plan(t, "-exit-code", "7")
	blind.start(t, blind.prepare(t, plan))
	hints.wait(t, plan.Instance)
	if got := blind.inspect(t, plan); got == nil || got.State != node.Exited || got.ExitCode != 7 {
		t.Errorf("after an exit there is %+v, want exit code 7", got)
	}
}

// testHang stops the service's process: it accepts connections and never answers.
func testHang(t *testing.T, b *bench) {
	plan := b.plan(t)
	c := b.prepare(t, plan)
	b.start(t, c)
	pid := b.pid(t, c)
	hints, guarding := b.watch(t), b.guarding(t)
	service := podmantest.ServicePID(t, b.uri)
	if err := syscall.Kill(service, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Kill(service, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}()
	untilStopped(t, service)
	fresh := b.plan(t)
	for name, call := range map[string]func(context.Context) error{
		"Facts":   func(ctx context.Context) error { _, err := b.engine.Facts(ctx); return err },
		"List":    func(ctx context.Context) error { _, err := b.engine.List(ctx, owner); return err },
		"Inspect": func(ctx context.Context) error { _, err := b.engine.Inspect(ctx, owner, plan.Instance); return err },
		"Prepare": func(ctx context.Context) error { _, err := b.engine.Prepare(ctx, fresh); return err },
		"Start":   func(ctx context.Context) error { return b.engine.Start(ctx, c) },
		"Stop":    func(ctx context.Context) error { return b.engine.Stop(ctx, c, time.Second) },
		"Remove":  func(ctx context.Context) error { return b.engine.Remove(ctx, c) },
		"Guard": func(ctx context.Context) error {
			return guarding.Guard(ctx, time.Now(), []node.Guarded{{Container: c, Window: time.Hour}})
		},
		"Connect": func(ctx context.Context) error { _, err := podman.Connect(ctx, b.uri); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		began := time.Now()
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s gave %v, want that the deadline passed", name, err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%s took %v beyond its deadline of 100ms", name, took)
		}
		cancel()
	}
	kill(t, pid) // the hint needs no Podman
	hints.wait(t, plan.Instance)
}

// untilStopped waits until every thread of the process has stopped: on a busy machine some go on for a moment.
func untilStopped(t testing.TB, pid int) {
	t.Helper()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for deadline := time.After(30 * time.Second); ; {
		states, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(states, func(path string) bool {
			text, err := os.ReadFile(path)
			return err == nil && !strings.Contains(string(text), ") T ")
		}) {
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("process %d does not stop", pid)
		}
	}
}

func connect(t testing.TB, uri string) *podman.Engine {
	t.Helper()
	engine, err := podman.Connect(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	return engine
}

// plan returns a plan of an instance that no other test has; what it makes is removed with the test.
func (b *bench) plan(t testing.TB, args ...string) node.Plan {
	t.Helper()
	spec := events.Spec{Image: b.image, Args: args, StopGrace: events.DefaultStopGrace}
	plan := node.Plan{
		Owner: owner,
		Instance: events.InstanceID{
			Service: events.ServiceID{Namespace: "demo", Name: "web"}, Ordinal: b.next.Add(1), Generation: 1,
		},
		Order:   events.Order{Action: events.ActionRun, Decided: 9, Revision: 1, Hash: spec.Hash(), Spec: &spec},
		Address: "127.0.0.1",
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := b.engine.Remove(ctx, node.Container{Handle: plan.Name()}); err != nil {
			t.Error(err)
		}
	})
	return plan
}

func (b *bench) prepare(t testing.TB, plan node.Plan) node.Container {
	t.Helper()
	c, err := b.engine.Prepare(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (b *bench) start(t testing.TB, c node.Container) {
	t.Helper()
	if err := b.engine.Start(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) remove(t testing.TB, c node.Container) {
	t.Helper()
	if err := b.engine.Remove(t.Context(), c); err != nil {
		t.Error(err)
	}
}

func (b *bench) inspect(t testing.TB, plan node.Plan) *node.Container {
	t.Helper()
	c, err := b.engine.Inspect(t.Context(), plan.Owner, plan.Instance)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// podman runs the private Podman's own command.
func (b *bench) podman(t testing.TB, args ...string) string {
	t.Helper()
	return b.podmanIn(t.Context(), t, args...)
}

func (b *bench) podmanIn(ctx context.Context, t testing.TB, args ...string) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(strings.TrimPrefix(b.uri, "unix://")), "podman")
	out, err := exec.CommandContext(ctx, path, args...).Output()
	if err != nil {
		t.Errorf("podman %q: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

func (b *bench) pid(t testing.TB, c node.Container) int { return b.number(t, c, "{{.State.Pid}}") }

func (b *bench) monitor(t testing.TB, c node.Container) int {
	return b.number(t, c, "{{.State.ConmonPid}}")
}

func (b *bench) number(t testing.TB, c node.Container, format string) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscan(b.podman(t, "inspect", "--format", format, c.Handle), &n); err != nil || n <= 1 {
		t.Errorf("%s of %s is %d: %v", format, c.Handle, n, err)
	}
	return n
}

// hints are those of one watch, with the time at which each instance's first came.
type hints struct {
	mu   sync.Mutex
	at   map[events.InstanceID]time.Time
	more chan struct{}
}

// watch starts a watch that ends with the test, and returns once it misses nothing.
func (b *bench) watch(t testing.TB) *hints {
	t.Helper()
	h := &hints{at: map[events.InstanceID]time.Time{}, more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- b.engine.Watch(ctx, owner, func() { close(ready) }, h.hint) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-ready:
	case err := <-done:
		done <- err
		t.Fatalf("the watch ended: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the watch is not ready")
	}
	return h
}

func (h *hints) hint(id events.InstanceID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.at[id]; !ok {
		h.at[id] = time.Now()
	}
	select {
	case h.more <- struct{}{}:
	default:
	}
}

func (h *hints) wait(t testing.TB, id events.InstanceID) time.Time {
	t.Helper()
	for deadline := time.After(time.Minute); ; {
		h.mu.Lock()
		at, ok := h.at[id]
		h.mu.Unlock()
		if ok {
			return at
		}
		select {
		case <-h.more:
		case <-deadline:
			t.Fatalf("no hint of %s came", id)
		}
	}
}

func wantFailure(t testing.TB, err error, reason events.OfflineReason, words string) {
	t.Helper()
	var failure *node.Failure
	if !errors.As(err, &failure) || failure.Reason != reason || !strings.Contains(failure.Message, words) {
		t.Errorf("the error is %v, want a %s that says %q", err, reason, words)
	}
}

func one(t testing.TB, containers []node.Container, id events.InstanceID) *node.Container {
	t.Helper()
	i := slices.IndexFunc(containers, func(c node.Container) bool { return c.Instance == id })
	if i < 0 {
		return nil
	}
	return &containers[i]
}

func same(a, b node.Container) bool {
	return a.Handle == b.Handle && a.Instance == b.Instance && a.Attempt == b.Attempt && a.Revision == b.Revision &&
		a.State == b.State && a.ExitCode == b.ExitCode && slices.Equal(a.Ports, b.Ports)
}

func kill(t testing.TB, pid int) {
	t.Helper()
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Errorf("killing %d: %v", pid, err)
	}
}

func freePort(t testing.TB) uint16 {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return uint16(listener.Addr().(*net.TCPAddr).Port)
}

// get asks the service on the port until it answers: a container runs before what is in it listens.
func get(t testing.TB, port uint16) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for deadline := time.After(30 * time.Second); ; {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", port), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err == nil {
			body, readErr := io.ReadAll(answer.Body)
			if err := errors.Join(readErr, answer.Body.Close()); err != nil {
				t.Fatal(err)
			}
			return string(body)
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("port %d does not answer: %v", port, err)
		}
	}
}
