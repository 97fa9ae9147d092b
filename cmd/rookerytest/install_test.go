package rookerytest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/cmd/rookery/install"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// bare is a host that nothing was installed on: it has a file system of its own above that of this machine, and a network of its own.
type bare struct {
	testing.TB
	// keys is the folder of the cluster's keys, and release that of the programs.
	keys, release string
	// inside runs until the test ends, and has these namespaces.
	inside *process
}

// layered makes the folders that are written to those of the host alone, and has the socket of a Podman where that of root is.
const layered = `ip link set lo up
mount -t tmpfs tmpfs "$1"
for folder in etc var/lib usr/local run; do
	mkdir -p "$1/$folder/upper" "$1/$folder/work"
	mount -t overlay overlay -o "lowerdir=/$folder,upperdir=$1/$folder/upper,workdir=$1/$folder/work" "/$folder"
done
mkdir -p /run/podman
rm -f /run/podman/podman.sock
touch /run/podman/podman.sock
mount --bind "$2" /run/podman/podman.sock
echo ready
exec sleep infinity`

func newBare(t *testing.T, podman string) *bare {
	t.Helper()
	b := &bare{TB: t, keys: filepath.Join(t.TempDir(), "keys"), release: t.TempDir()}
	path, err := program()
	if err == nil {
		err = os.Link(path, b.program())
	}
	if err == nil {
		path, err = natsServer()
	}
	if err == nil {
		err = os.Link(path, filepath.Join(b.release, "nats-server"))
	}
	if err != nil {
		t.Fatal(err)
	}
	b.inside = startProgramIn(t, "/usr/bin/unshare", nil, "--mount", "--net", "--propagation", "private",
		"sh", "-ec", layered, "sh", t.TempDir(), strings.TrimPrefix(podman, "unix://"))
	if !b.inside.prints("ready") {
		t.Fatalf("the host does not come up: %s", b.inside.output)
	}
	return b
}

func (b *bare) program() string { return filepath.Join(b.release, "rookery") }

// on returns a command of the host: a line for its shell.
func (b *bare) on(line string) []string {
	return []string{"--mount", "--net", "--target", strconv.Itoa(b.inside.cmd.Process.Pid), "--", "sh", "-c", line}
}

// does runs a line on the host, which must end with this code, and returns what it prints.
func (b *bare) does(code int, line string) string {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), settlesWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nsenter", b.on(line)...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		b.Fatalf("%s: %v, want exit code %d: %s", line, err, code, out)
	}
	return string(out)
}

// refuses runs a line on the host, which must end with code 1 and say this.
func (b *bare) refuses(line, says string) {
	b.Helper()
	if out := b.does(1, line); !strings.Contains(out, says) {
		b.Errorf("%s: %s; want %q", line, out, says)
	}
}

// started is the command that an installation without a unit ends with.
var started = regexp.MustCompile(`Start it as the user ([a-z]+): (.*)\n`)

// installs stops the installation of a part at each of its steps before it comes to its end, and starts the part as it says.
func (b *bare) installs(part, arguments string) *process {
	b.Helper()
	line := fmt.Sprintf("%s install %s %s --no-unit", b.program(), part, arguments)
	lacks := b.does(7, line+" --dry-run")
	steps := strings.Count(lacks, "not yet  ")
	if steps < 2 {
		b.Errorf("%s --dry-run: %s", line, lacks)
	}
	for stop := range steps {
		// Behind that many lines nothing reads what it prints, which ends it.
		b.does(0, fmt.Sprintf("%s | head -n %d >/dev/null", line, stop))
	}
	first := b.does(0, line)
	if again := b.does(0, line); strings.Contains(again, "now ") || !started.MatchString(again) {
		b.Errorf("%s, once more: %s", line, again)
	}
	if out := b.does(0, line+" --dry-run 2>/dev/null"); out != "" {
		b.Errorf("%s --dry-run, behind that: %s", line, out)
	}
	start := started.FindStringSubmatch(first)
	if start == nil {
		b.Fatalf("%s: %s", line, first)
	}
	folder, command, in := strings.Cut(start[2], " && ")
	if !in {
		folder, command = "true", start[2]
	}
	return startProgramIn(b.TB, "/usr/bin/nsenter", nil, b.on(fmt.Sprintf("exec setpriv --pdeathsig KILL --reuid %[1]s --regid %[1]s --init-groups sh -c '%[2]s && exec %[3]s'",
		start[1], folder, command))...)
}

// TestAHostIsInstalledStepByStepOnPodman installs a server, a coordinator and a node without systemd, from nothing to a cluster with a node that is ready.
func TestAHostIsInstalledStepByStepOnPodman(t *testing.T) {
	t.Parallel()
	b := newBare(t, podmantest.Start(t))
	does := func(words string) string { return b.does(0, b.program()+" "+words) }
	operator := " --context " + filepath.Join(b.keys, "users/operator.json")
	does("secure init nats-1=127.0.0.1 --dir " + b.keys)
	b.does(0, "cp -r "+filepath.Join(b.keys, "servers/nats-1")+" "+b.release)

	b.refuses(b.program()+" install server "+b.keys, "it has no nats.conf")
	b.refuses("setpriv --reuid 65534 --clear-groups "+b.program()+" install server "+b.keys+"/servers/nats-1", "only root can install")
	server := b.installs(install.ServerPart, b.keys+"/servers/nats-1")
	if !ready(server) {
		t.Fatalf("the server does not start: %s", server.output)
	}
	does("bus init" + operator)

	coordinator := b.installs(install.CoordinatorPart, b.keys)

	var made struct {
		Token string `json:"token"`
	}
	told := does("token create --output json --dir " + b.keys + operator + " 2>/dev/null")
	if err := json.Unmarshal([]byte(told), &made); err != nil {
		t.Fatalf("token create: %s", told)
	}
	b.refuses("PATH=/nothing "+b.program()+" install node "+made.Token+" --no-unit", "install the package that Debian calls podman")
	node := b.installs(install.NodePart, made.Token+" --name edge-1 --address 127.0.0.2")
	var nodes string
	late := time.After(settlesWithin)
	for !strings.Contains(nodes, "ready") {
		nodes = does("nodes" + operator)
		select {
		case <-late:
			t.Fatalf("the node is not ready: %s\n%s\n%s", nodes, node.output, coordinator.output)
		case <-time.After(100 * time.Millisecond):
		}
	}
	if !strings.Contains(nodes, "127.0.0.2") {
		t.Errorf("the nodes are %s", nodes)
	}
	b.isOwned()
	b.does(0, "sed -i 's#^admission: .*#admission: /elsewhere#' /etc/rookery/coordinator.yaml")
	b.refuses(b.program()+" install coordinator "+b.keys+" --no-unit", "admission is /elsewhere there, and would be /etc/rookery/admission")
}

// isOwned checks who owns what was installed, and who may read it.
func (b *bare) isOwned() {
	b.Helper()
	got := strings.Fields(b.does(0, `find /etc/rookery /var/lib/rookery /usr/local/bin/rookery /usr/local/lib/rookery -printf '%p=%U=%m\n' | sed "s/=$(id -u rookery)=/=rookery=/"`))
	for _, want := range []string{
		"/etc/rookery=0=755", "/etc/rookery/admission=rookery=700", "/etc/rookery/coordinator.creds=rookery=600", "/etc/rookery/coordinator.yaml=0=644",
		"/etc/rookery/nodes=0=700", "/etc/rookery/nodes/edge-1.key=0=600", "/etc/rookery/node.yaml=0=644",
		"/usr/local/bin/rookery=0=755", "/usr/local/lib/rookery/nats-server=0=755",
		"/var/lib/rookery=rookery=700", "/var/lib/rookery/server=rookery=700", "/var/lib/rookery/server/server.key=rookery=600",
	} {
		if !slices.Contains(got, want) {
			b.Errorf("there is no %s among\n%s", want, strings.Join(got, "\n"))
		}
	}
	for _, file := range got {
		if strings.Contains(file, ".new=") {
			b.Errorf("%s is left", file)
		}
	}
}
