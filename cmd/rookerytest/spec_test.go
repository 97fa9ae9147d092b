package rookerytest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// specRow is one field of the spec: what is asked, and what is then to be seen from outside the container.
type specRow struct {
	name string
	// fields stand in the spec, beside the example image where they do not begin with one.
	fields string
	see    func(*seen)
}

// TestSpecFieldsOnPodman asks for every field of the spec on the bus, and looks at the container from the host.
func TestSpecFieldsOnPodman(t *testing.T) {
	t.Parallel()
	var rows []specRow
	rows = append(rows, processRows()...)
	rows = append(rows, networkRows()...)
	allowed := t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(allowed, "out")); err != nil {
		t.Fatal(err)
	}
	rows = append(rows, volumeRows(allowed)...)
	rows = append(rows, imageRows()...)
	rows = append(rows, topologyRows()...)
	rows = append(rows, snapshotRows()...)
	rows = append(rows, suspendRows()...)
	rows = append(rows, beforeStopRows()...)
	rows = append(rows, drainRows()...)
	rows = append(rows, initRows()...)
	rows = append(rows, healthRows()...)
	rows = append(rows, restartRows()...)
	rows = append(rows, disconnectRows()...)
	rows = append(rows, jobRows()...)
	rows = append(rows, outputRows()...)
	rows = append(rows, sidecarRows()...)
	rows = append(rows, diskRows()...)
	rows = append(rows, deviceRows()...)
	rows = append(rows, secretRows()...)
	rows = append(rows, configRows()...)
	rows = append(rows, placeRows(t)...)
	rows = append(rows, templateRows()...)
	// Each host tests every third row.
	const hosts = 3
	for first := range hosts {
		t.Run(fmt.Sprintf("host %d", first+1), func(t *testing.T) {
			t.Parallel()
			r := startReal(t, "--allow-capability", "SYS_PTRACE", "--allow-host-path", allowed,
				"--allow-device", "/dev/fuse", "--allow-device", "/dev/rookery-none",
				"--allow-host-port", "1024-65535", "--allow-engine-context",
				"--zone", "attic", "--label", "disk=ssd", "--reserve-memory", reserved(t),
				"--default-cpu", "5m", "--default-memory", "16MiB")
			r.Until("the node has joined", func() bool { return r.State().Nodes == 1 })
			for i := first; i < len(rows); i += hosts {
				t.Run(rows[i].name, func(t *testing.T) {
					s := r.publish(t, rows[i])
					rows[i].see(s)
					r.Command(s.service, "drop", `{}`)
				})
			}
		})
	}
}

// seen is a service as it is seen from outside.
type seen struct {
	*testing.T
	*realNode
	service string
	events  bus.Subscription
	// at is the time of the event that was waited for last.
	at    time.Time
	found *node.Container
}

func (r *realNode) publish(t *testing.T, row specRow) *seen {
	t.Helper()
	name := strings.NewReplacer(" ", "-", "_", "-").Replace(row.name)
	subscription, err := r.Bus().Subscribe(events.EventRoot + ".service.demo." + name + ".>")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(subscription.Stop)
	s := &seen{T: t, realNode: r, service: "demo/" + name, events: subscription}
	fields := briefly(row.fields)
	if !strings.HasPrefix(row.fields, `"image":`) {
		fields = `"image":"` + podmantest.WebReference + `",` + fields
	}
	if !strings.Contains(row.fields, `"update":`) && !strings.Contains(row.fields, `"mode":"job"`) {
		fields = `"update":{"min_healthy":"0s"},` + fields
	}
	r.Publish(s.service, "ensure", `{`+fields+`}`)
	return s
}

// event waits for the next event of this kind.
func event[D events.Data](s *seen) D {
	s.Helper()
	var words []string
	for deadline := time.After(time.Minute); ; {
		select {
		case m := <-s.events.Messages():
			words = append(words, string(m.Body))
			data, attributes, err := events.Decode(m)
			if err != nil {
				s.Fatal(err)
			}
			if found, ok := data.(D); ok {
				s.at = attributes.Time
				return found
			}
		case <-deadline:
			var none D
			s.Fatalf("no %s came, but %q", none.Kind(), words)
		}
	}
}

// online waits until the service's one instance serves, and returns its container.
func (s *seen) online() node.Container {
	s.Helper()
	if s.found == nil {
		event[events.InstanceOnline](s)
		found := s.container()
		s.found = &found
	}
	return *s.found
}

// briefly has instances with these fields end soon where they do not say when.
func briefly(fields string) string {
	if strings.Contains(fields, `"stop_grace":`) {
		return fields
	}
	return `"stop_grace":"1s",` + fields
}

// revised gives the service a revision with these fields, and returns its container.
func (s *seen) revised(fields string) node.Container {
	s.Helper()
	s.Ensure(s.service, `{"image":"`+podmantest.WebReference+`",`+briefly(fields)+`}`)
	now := s.container()
	s.found = &now
	return now
}

func (s *seen) container() node.Container {
	s.Helper()
	for id, c := range s.running() {
		if id.Service.String() == s.service {
			return c
		}
	}
	s.Fatalf("no container of %s runs", s.service)
	return node.Container{}
}

// offline waits until the instance is offline for this reason, with these words.
func (s *seen) offline(reason events.OfflineReason, words string) events.InstanceOffline {
	s.Helper()
	e := event[events.InstanceOffline](s)
	if e.Reason != reason || !strings.Contains(e.Message, words) {
		s.Errorf("the instance is offline as %s: %q; want %s: %q", e.Reason, e.Message, reason, words)
	}
	return e
}

// podman runs the private Podman's own command.
func (s *seen) podman(args ...string) string {
	s.Helper()
	out, err := s.realNode.podman(args...)
	if err != nil {
		s.Errorf("podman %q: %v: %s", args, err, out)
	}
	return out
}

// inspect returns what Podman says of the service's container.
func (s *seen) inspect(format string) string {
	s.Helper()
	return s.podman("inspect", "--format", format, s.online().Handle)
}

// proc reads a file of the process in the service's container, below /proc on the host.
func (s *seen) proc(name string) string {
	s.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", s.inspect("{{.State.Pid}}"), name))
	if err != nil {
		s.Error(err)
	}
	return string(text)
}

// line returns the words of the line that begins with this, of a file of the process below /proc.
func (s *seen) line(name, beginning string) string {
	s.Helper()
	for line := range strings.Lines(s.proc(name)) {
		if strings.HasPrefix(line, beginning) {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	s.Errorf("/proc/<pid>/%s has no %q", name, beginning)
	return ""
}

func (s *seen) want(what, got, want string) {
	s.Helper()
	if got != want {
		s.Errorf("%s is %q, want %q", what, got, want)
	}
}

func (s *seen) wantIn(what, got, part string) {
	s.Helper()
	if !strings.Contains(got, part) {
		s.Errorf("%s is %q, want %q in it", what, got, part)
	}
}

func processRows() []specRow {
	capabilities := func(names ...uint) string {
		var set uint64
		for _, bit := range names {
			set |= 1 << bit
		}
		return fmt.Sprintf("CapBnd: %016x", set)
	}
	const chown, netBindService, ptrace = 0, 10, 19
	return []specRow{
		{"user", `"user":"1234:5678"`, func(s *seen) {
			s.want("the user", s.line("status", "Uid:"), "Uid: 1234 1234 1234 1234")
			s.want("the group", s.line("status", "Gid:"), "Gid: 5678 5678 5678 5678")
		}},
		{"working_dir", `"working_dir":"/dev/shm"`, func(s *seen) {
			cwd, err := os.Readlink(filepath.Join("/proc", s.inspect("{{.State.Pid}}"), "cwd"))
			if err != nil {
				s.Error(err)
			}
			s.want("the working directory", cwd, "/dev/shm")
		}},
		{"no capabilities", `"env":{}`, func(s *seen) {
			s.want("the bounding set", s.line("status", "CapBnd:"), capabilities())
			s.want("what stands against privileges", s.line("status", "NoNewPrivs:"), "NoNewPrivs: 1")
		}},
		{"security context of the engine", `"env":{}`, func(s *seen) {
			s.online()
			ask(s.T, s.Cluster, "rookery.cmd.cluster.policy", `{"security_context":"engine"}`)
			s.revised(`"env":{"A":"1"}`)
			s.want("what stands against privileges", s.line("status", "NoNewPrivs:"), "NoNewPrivs: 0")
			s.want("the bounding set", s.line("status", "CapBnd:"), capabilities(0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 31))
			s.revised(`"capabilities":["CHOWN"]`)
			s.want("the bounding set of who names some", s.line("status", "CapBnd:"), capabilities(chown))
			ask(s.T, s.Cluster, "rookery.cmd.cluster.policy", `{}`)
		}},
		{"capabilities", `"capabilities":["CHOWN","NET_BIND_SERVICE","SYS_PTRACE"]`, func(s *seen) {
			s.want("the bounding set", s.line("status", "CapBnd:"), capabilities(chown, netBindService, ptrace))
		}},
		{"capabilities refused", `"capabilities":["SYS_ADMIN"]`, func(s *seen) {
			s.offline(events.OfflineNotAllowed, "--allow-capability CAP_SYS_ADMIN")
		}},
		{"read_only_root", `"read_only_root":true`, func(s *seen) {
			root := ""
			for line := range strings.Lines(s.proc("mountinfo")) {
				if words := strings.Fields(line); words[4] == "/" {
					root = words[5]
				}
			}
			s.wantIn("the mount of the root", root, "ro")
		}},
		{"ulimits", `"ulimits":[{"name":"nofile","value":321},{"name":"fsize","value":1048576}]`, func(s *seen) {
			s.want("the limit", s.line("limits", "Max open files"), "Max open files 321 321 files")
			s.want("the limit", s.line("limits", "Max file size"), "Max file size 1048576 1048576 bytes")
			s.want("the node's own", s.line("limits", "Max core file size"), "Max core file size 0 0 bytes")
		}},
		{"shm_size", `"shm_size":"3MiB"`, func(s *seen) {
			for line := range strings.Lines(s.proc("mounts")) {
				if strings.Contains(line, " /dev/shm ") {
					s.wantIn("the mount", line, "size=3072k")
					return
				}
			}
			s.Error("there is no /dev/shm")
		}},
	}
}

func networkRows() []specRow {
	return []specRow{
		{"hostname", `"hostname":"heron","ports":[{"name":"http","port":8080}]`, func(s *seen) {
			s.wantIn("the answer", s.visit(s.online().Ports[0].HostPort), " on heron\n")
		}},
		{"extra_hosts", `"extra_hosts":[{"name":"db.example","address":"10.9.8.7"}]`, func(s *seen) {
			s.wantIn("/etc/hosts", s.proc("root/etc/hosts"), "10.9.8.7\tdb.example")
		}},
		{"sysctls", `"sysctls":{"net.core.somaxconn":"77"}`, func(s *seen) {
			pid := s.inspect("{{.State.Pid}}")
			out, err := exec.CommandContext(s.Context(), "nsenter", "--net=/proc/"+pid+"/ns/net", "cat", "/proc/sys/net/core/somaxconn").Output()
			if err != nil {
				s.Error(err)
			}
			s.want("net.core.somaxconn", string(out), "77\n")
		}},
		{"network none", `"network":"none"`, func(s *seen) {
			links := 0
			for line := range strings.Lines(s.proc("net/dev")) {
				if strings.Contains(line, ":") {
					links++
					s.wantIn("the link", line, "lo:")
				}
			}
			if links != 1 {
				s.Errorf("there are %d links, want the loopback alone", links)
			}
		}},
		{"network bridge", `"network":"bridge"`, func(s *seen) {
			s.wantIn("the links", s.proc("net/dev"), "eth0:")
		}},
		{"network host refused", `"network":"host"`, func(s *seen) {
			s.offline(events.OfflineNotAllowed, "--allow-host-network")
		}},
	}
}

// mountAt returns the device and the options of what is mounted at the path in the container.
func (s *seen) mountAt(path string) (device, options string) {
	s.Helper()
	for line := range strings.Lines(s.proc("mounts")) {
		if words := strings.Fields(line); words[1] == path {
			return words[0], words[3]
		}
	}
	s.Errorf("nothing is mounted at %s", path)
	return "", ""
}

// write writes a file below the root of the container's process, from the host.
func (s *seen) write(path, text string) error {
	s.Helper()
	return os.WriteFile(filepath.Join("/proc", s.inspect("{{.State.Pid}}"), "root", path), []byte(text), 0o644)
}

func volumeRows(allowed string) []specRow {
	return []specRow{
		{"volumes", `"volumes":[{"name":"data","path":"/data"}]`, func(s *seen) {
			if err := s.write("data/kept", "of generation 1"); err != nil {
				s.Error(err)
			}
			first := s.online()
			s.Ensure(s.service, `{"image":"`+podmantest.WebReference+`","stop_grace":"1s","env":{"A":"1"},"volumes":[{"name":"data","path":"/data"}]}`)
			second := s.container()
			if second.Instance.Generation == first.Instance.Generation || second.Instance.Ordinal != first.Instance.Ordinal {
				s.Fatalf("the service was %+v and is %+v, want another generation", first, second)
			}
			s.found = &second
			s.want("the file of the generation before", s.proc("root/data/kept"), "of generation 1")
			name := "rookery." + s.owner.Cluster[:12] + ".demo.volumes.0.data"
			s.want("the volume's service", s.podman("volume", "inspect", "--format", "{{index .Labels \"io.rookery.service\"}}", name), "volumes")
			s.podman("volume", "rm", "--force", name)
		}},
		{"volumes read only", `"volumes":[{"name":"data","path":"/data","read_only":true}]`, func(s *seen) {
			_, options := s.mountAt("/data")
			s.wantIn("the options", ","+options+",", ",ro,")
		}},
		{"volumes host", `"volumes":[{"name":"data","path":"/data","kind":"host","source":"` + allowed + `"}]`, func(s *seen) {
			if err := s.write("data/file", "from the container"); err != nil {
				s.Error(err)
			}
			text, err := os.ReadFile(filepath.Join(allowed, "file"))
			if err != nil {
				s.Error(err)
			}
			s.want("the host's file", string(text), "from the container")
		}},
		{"volumes host refused", `"volumes":[{"name":"data","path":"/data","kind":"host","source":"/etc"}]`, func(s *seen) {
			s.offline(events.OfflineNotAllowed, "--allow-host-path")
		}},
		{"volumes host by a link", `"volumes":[{"name":"data","path":"/data","kind":"host","source":"` + allowed + `/out"}]`, func(s *seen) {
			s.offline(events.OfflineNotAllowed, "--allow-host-path")
		}},
		{"volumes host missing", `"volumes":[{"name":"data","path":"/data","kind":"host","source":"` + allowed + `/none"}]`, func(s *seen) {
			s.offline(events.OfflineCreateFailed, "create it on this host")
		}},
		{"volumes tmpfs", `"volumes":[{"name":"data","path":"/data","kind":"tmpfs","size":"2MiB"}]`, func(s *seen) {
			device, options := s.mountAt("/data")
			s.want("the device", device, "tmpfs")
			s.wantIn("the options", options, "size=2048k")
		}},
	}
}

func imageRows() []specRow {
	return []specRow{
		{"pull missing", `"pull":"missing"`, func(s *seen) { s.online() }},
		{"pull never", `"pull":"never"`, func(s *seen) { s.online() }},
		{"pull missing of what is nowhere", `"image":"localhost:1/none:1"`, func(s *seen) {
			s.offline(events.OfflineImagePull, "connection refused")
		}},
		{"image of no registry", `"pull":"missing"`, func(s *seen) {
			if got := event[events.InstancePrepared](s).Images; got != nil {
				s.Errorf("the image stands for %v, want nothing: each host has its own", got)
			}
		}},
		{"pull never of what is not there", `"image":"localhost:1/none:1","pull":"never"`, func(s *seen) {
			s.offline(events.OfflineImagePull, "pull is never")
		}},
		// The image is there, and the registry that it would be fetched from is not.
		{"pull always", `"pull":"always"`, func(s *seen) { s.offline(events.OfflineImagePull, podmantest.WebReference) }},
	}
}

// dropClean drops the service and wants nothing of it to be left.
func (s *seen) dropClean() {
	s.Helper()
	s.Command(s.service, "drop", `{}`)
	s.want("what is left of the service", s.listed("{{.Names}}"), "")
}

// listed returns what Podman lists of the service's containers, running or not.
func (s *seen) listed(format string) string {
	s.Helper()
	return s.podman("ps", "--all", "--format", format, "--filter", "label="+node.LabelService+"="+strings.TrimPrefix(s.service, "demo/"))
}

func initRows() []specRow {
	const data = `"volumes":[{"name":"data","path":"/data","kind":"volume"}]`
	const forever = data + `,"ports":[{"name":"http","port":8080}],"init":{"env":{"A":"b"}}`
	return []specRow{
		{"init", data + `,"init":{"args":["-write","/data/made=by init","-exit-code","0","-exit-after","1ms"]}`, func(s *seen) {
			s.want("the file", s.proc("root/data/made"), "by init")
			event[events.CommandSucceeded](s)
			s.want("the containers", s.listed("{{.ID}}"), s.online().Handle[:12])
		}},
		{"init that fails", `"init":{"args":["-exit-code","3"]}`, func(s *seen) {
			e := s.offline(events.OfflineInitFailed, "")
			if e.ExitCode == nil || *e.ExitCode != 3 {
				s.Errorf("the exit code is %v, want 3", e.ExitCode)
			}
			s.offline(events.OfflineInitFailed, "") // and again
			s.dropClean()
			s.Ensure(s.service, `{"image":"`+podmantest.WebReference+`"}`)
		}},
		{"init under a killed node", forever, func(s *seen) {
			event[events.InstancePrepared](s)
			s.Until("the init container runs", func() bool { return s.role(node.RoleInit) != nil })
			before := s.role(node.RoleInit)
			s.node.kill()
			s.startNode()
			s.adopted(before)
			s.node.kill()
			podmantest.Kill(s, s.uri, before.Handle) // while no node looks
			s.startNode()
			e := s.offline(events.OfflineInitFailed, "")
			if e.ExitCode == nil || *e.ExitCode != 137 {
				s.Errorf("the exit code is %v, want 137", e.ExitCode)
			}
			s.Until("the next init container runs", func() bool { c := s.role(node.RoleInit); return c != nil && c.Handle != before.Handle })
			s.dropClean()
			s.Ensure(s.service, `{"image":"`+podmantest.WebReference+`"}`)
		}},
	}
}

// adopted waits until the node that was started has joined, and wants the container to run on.
func (s *seen) adopted(before *node.Container) {
	s.Helper()
	s.Until("the node says that it has joined", func() bool { return strings.Contains(s.node.output.String(), "joined") })
	if now := s.role(before.Role); now == nil || now.Handle != before.Handle {
		s.Errorf("the container was %+v and is %+v: not adopted", before, now)
	}
}

// role returns the service's running container of the role, or nil.
func (s *seen) role(role node.Role) *node.Container {
	s.Helper()
	for id, c := range s.running() {
		if id.Service.String() == s.service && c.Role == role {
			return &c
		}
	}
	return nil
}

func healthRows() []specRow {
	const port = `"ports":[{"name":"http","port":8080},{"name":"none","port":9}],`
	const often = `"interval":"100ms","retries":2`
	// In the start period a program may take its time to begin, as on a busy machine.
	const patient = `"start_period":"2s",` + often
	// fallsSick makes the instance unhealthy until its restart: the file that says so goes with the container.
	fallsSick := func(words string) func(*seen) {
		return func(s *seen) {
			first := s.online()
			if err := s.write("sick", ""); err != nil {
				s.Error(err)
			}
			s.offline(events.OfflineUnhealthy, words)
			online := event[events.InstanceOnline](s)
			if again := s.container(); online.Attempt != first.Attempt+1 || again.Handle == first.Handle {
				s.Errorf("the container was %+v and is %+v in attempt %d, want the next one", first, again, online.Attempt)
			}
		}
	}
	return []specRow{
		{"health http", port + `"health":{"http":{"port":"http","path":"/health"},` + patient + `}`, fallsSick("GET /health answered 503")},
		// A program is begun in the container for each check: on a busy machine that alone takes seconds.
		{"health exec", `"health":{"exec":["/web","-check"],"timeout":"20s",` + patient + `}`, fallsSick("/web ended with exit code 1")},
		{"health tcp", port + `"health":{"tcp":{"port":"http"},` + patient + `}`, func(s *seen) { s.online() }},
		{"health tcp of a closed port", port + `"health":{"tcp":{"port":"none"},` + often + `}`, func(s *seen) {
			s.offline(events.OfflineUnhealthy, "refused")
			s.offline(events.OfflineUnhealthy, "refused")
		}},
		{"health that hangs", `"health":{"exec":["/web"],"timeout":"300ms","interval":"100ms","retries":1}`, func(s *seen) {
			s.offline(events.OfflineUnhealthy, "")
		}},
		{"health after a start period", port + `"health":{"tcp":{"port":"none"},"start_period":"2s",` + often + `}`, func(s *seen) {
			began := event[events.InstanceStarted](s)
			at := time.Now()
			s.offline(events.OfflineUnhealthy, "refused")
			if took := time.Since(at); took < 1500*time.Millisecond || began.Attempt != 0 {
				s.Errorf("attempt %d was unhealthy after %s, want a start period of 2s", began.Attempt, took)
			}
		}},
	}
}

func restartRows() []specRow {
	// ends lets the instance go offline and stay offline, and the container stays so that an operator can look at it.
	ends := func(reason events.OfflineReason, words string, times int) func(*seen) {
		return func(s *seen) {
			for range times {
				s.offline(reason, "")
			}
			e := s.offline(reason, words)
			if e.Attempt != uint32(times) {
				s.Errorf("it is given up in attempt %d, want %d", e.Attempt, times)
			}
			left := s.listed("{{.ID}} {{.Exited}}")
			s.wantIn("the container", left, " true")
			s.node.kill()
			s.startNode()
			// Once it carries out an order it has taken up all that there was.
			s.Ensure("demo/other", `{"image":"`+podmantest.WebReference+`","stop_grace":"1s"}`)
			s.Command("demo/other", "drop", `{}`)
			s.want("the container under the next process", s.listed("{{.ID}} {{.Exited}}"), left)
		}
	}
	// usesUp lets the program exit until the node restarts it no longer, and another instance takes its place.
	usesUp := func(times uint32, words string) func(*seen) {
		return func(s *seen) {
			for attempt := range times {
				if e := s.offline(events.OfflineExited, ""); e.Attempt != attempt || e.NoRestart != "" {
					s.Errorf("the end is %+v, want that of attempt %d, after which it is restarted", e, attempt)
				}
			}
			last := s.offline(events.OfflineExited, words)
			if last.Attempt != times || last.NoRestart != events.NoRestartAttempts {
				s.Errorf("the end is %+v, want that of attempt %d, the last", last, times)
			}
			if e := event[events.InstanceRetired](s); e.Generation != last.Generation || e.Reason != events.RetireCrashLooping {
				s.Errorf("generation %d goes as %s", e.Generation, e.Reason)
			}
			if e := event[events.InstancePlaced](s); e.Generation != last.Generation+1 {
				s.Errorf("generation %d takes its place", e.Generation)
			}
		}
	}
	return []specRow{
		{"restart always", `"args":["-exit-code","0","-exit-after","300ms"],"restart":{"delay":"10ms"}`, func(s *seen) {
			for attempt := range uint32(3) {
				if e := s.offline(events.OfflineExited, ""); e.Attempt != attempt || e.ExitCode == nil || *e.ExitCode != 0 {
					s.Errorf("the end is %+v, want that of attempt %d with exit code 0", e, attempt)
				}
			}
		}},
		{"restart never", `"args":["-exit-code","3"],"restart":{"policy":"never"}`, ends(events.OfflineExited, "the policy is never", 0)},
		{"restart on-failure after success", `"args":["-exit-after","1ms"],"restart":{"policy":"on-failure"}`, ends(events.OfflineExited, "the policy is on-failure", 0)},
		{"restart on-failure and attempts", `"args":["-exit-code","3"],"restart":{"policy":"on-failure","delay":"10ms","attempts":2}`, usesUp(2, "it was 2 times")},
		{"restart window", `"args":["-exit-code","3"],"restart":{"delay":"10ms","attempts":1,"window":"1m"}`, usesUp(1, "1 times within 1m0s")},
		{"restart delay", `"args":["-exit-code","3"],"restart":{"delay":"4s"}`, func(s *seen) {
			const least = 3 * time.Second // the end may be told late
			s.offline(events.OfflineExited, "")
			at := time.Now()
			event[events.InstancePrepared](s)
			if took := time.Since(at); took < least {
				s.Errorf("it was prepared again after %s, want 4s", took)
			}
		}},
		{"out of memory", `"args":["-eat","700"]`, func(s *seen) {
			if e := s.offline(events.OfflineOOMKilled, "memory"); e.ExitCode == nil || *e.ExitCode != 137 {
				s.Errorf("the exit code is %v, want 137", e.ExitCode)
			}
		}},
		{"killed by hand", `"env":{}`, func(s *seen) {
			podmantest.Kill(s, s.uri, s.online().Handle)
			s.offline(events.OfflineExited, "")
		}},
	}
}

func sidecarRows() []specRow {
	const side = `"ports":[{"name":"side","port":9090}],"sidecars":[{"name":"proxy","image":"` + podmantest.WebReference + `",` +
		`"args":["-listen",":9090"],"env":{"ROOKERY_X":"y"}}]`
	return []specRow{
		{"sidecars", side, func(s *seen) {
			main := s.online()
			s.wantIn("the sidecar's answer at the instance's port", s.visit(main.Ports[0].HostPort), "demo/sidecars ordinal 0")
			beside := s.podman("inspect", "--format", "{{.State.Pid}}", main.Sidecars[0])
			network := func(pid string) string {
				link, err := os.Readlink(filepath.Join("/proc", pid, "ns/net"))
				if err != nil {
					s.Error(err)
				}
				return link
			}
			s.want("the sidecar's network", network(beside), network(s.inspect("{{.State.Pid}}")))
			s.wantIn("the sidecar's variables", s.podman("inspect", "--format", "{{.Config.Env}}", main.Sidecars[0]), "ROOKERY_X=y")

			s.node.kill()
			s.startNode()
			s.Ensure("demo/other", `{"image":"`+podmantest.WebReference+`","stop_grace":"1s"}`)
			s.Command("demo/other", "drop", `{}`)
			s.want("the container under the next process", s.container().Handle, main.Handle)

			podmantest.Kill(s, s.uri, main.Sidecars[0])
			s.offline(events.OfflineExited, "its sidecar proxy has ended")
			event[events.InstanceOnline](s)
			if again := s.container(); again.Handle == main.Handle {
				s.Error("the container is the same, want the next one")
			}
			s.dropClean()
			s.Ensure(s.service, `{"image":"`+podmantest.WebReference+`"}`)
		}},
		{"sidecars go with the main container", side + `,"restart":{"policy":"never"}`, func(s *seen) {
			podmantest.Kill(s, s.uri, s.online().Handle)
			s.offline(events.OfflineExited, "policy is never")
			s.Until("the sidecar is stopped", func() bool { return s.listed("{{.Exited}}") == "true\ntrue" })
			s.dropClean()
			s.Ensure(s.service, `{"image":"`+podmantest.WebReference+`"}`)
		}},
		{"sidecars of which one cannot be had", `"sidecars":[{"name":"proxy","image":"localhost:1/none:1"}]`, func(s *seen) {
			s.offline(events.OfflineImagePull, "sidecar proxy: image localhost:1/none:1")
			s.offline(events.OfflineImagePull, "sidecar proxy")
			s.dropClean()
			s.Ensure(s.service, `{"image":"`+podmantest.WebReference+`"}`)
		}},
	}
}
