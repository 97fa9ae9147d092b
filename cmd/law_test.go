package cmd_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const house = "github.com/rookery-project/rookery"

// pkg is what `go list` reports of a package.
type pkg struct {
	ImportPath string
	Name       string
	Imports    []string
}

// room is one package of this module, with the packages of the module that it may import. A package below it has an entry of its own or
// follows the same rule. Packages that are not pure may use the network, files, logs and random numbers.
type room struct {
	path string
	pure bool
	may  []string
	why  string
}

// law lists the import rules. The entry with the longest path that fits a package applies to it. A package without an entry must not exist.
var law = []room{
	{"events", true, nil, "package events imports no other package of this module: all others import it"},
	{"events/golden", true, []string{"events"}, "recorded logs hold only events: the tests of every reader of logs use them"},
	{"projections", true, []string{"events", "projections/barrier"}, "the fold knows events and nothing else: state is the fold of the log"},
	{
		"coordinator", true,
		[]string{"events", "projections", "projections/barrier", "coordinator/placement", "coordinator/operation"},
		"decisions are functions of the state: nodes and the bus reach them only as events",
	},
	{
		"coordinator/operation", true,
		[]string{"events", "projections", "projections/barrier", "coordinator/placement"},
		"the next phase of an operation is a function of the state: it knows no command and no round",
	},
	{"projections/barrier", true, nil, "a barrier is a verdict over its arguments: it knows neither services nor time"},
	{
		"coordinator/placement", true,
		[]string{"events", "projections"},
		"placement is a function of the state: it knows no command and no order",
	},
	{
		"coordinator/whatif", true,
		[]string{"coordinator", "events", "projections"},
		"a what-if is a function of the log and a policy: it decides as the coordinator does",
	},
	{
		"coordinator/capsule", true,
		[]string{"coordinator", "coordinator/placement", "events", "projections"},
		"a capsule is decided as the coordinator decides: the caller reads and writes its bytes",
	},
	{
		"coordinator/archive", true,
		[]string{"coordinator/capsule", "events"},
		"an archive is the messages of the log in lines: the caller reads and writes its bytes",
	},
	{"node", true, []string{"events"}, "a node's steps follow from orders and the engine's containers: it never decides what should run"},
	{"events/bus", false, []string{"events", "events/bus"}, "the adapter of the bus translates messages and knows nothing of what they mean"},
	{"projections/views", false, []string{"projections", "events", "events/bus"}, "the views write the fold to the bus"},
	{
		"coordinator/runner", false,
		[]string{
			"coordinator", "projections", "projections/views", "events", "events/bus",
			"coordinator/runner/api", "coordinator/runner/snapshots", "coordinator/runner/telemetry",
		},
		"the coordinator's loop meets nodes on the bus alone",
	},
	{
		"coordinator/runner/api", false,
		[]string{"coordinator", "coordinator/whatif", "coordinator/runner/snapshots", "projections", "projections/views", "events", "events/bus"},
		"the API reads the state through an interface, and the log: it knows nothing of the loop",
	},
	{
		"coordinator/runner/snapshots", false,
		[]string{"projections", "events", "events/bus"},
		"a fold begins with a snapshot or with the log: it knows nothing of its caller",
	},
	{
		"coordinator/runner/backup", false,
		[]string{"coordinator/archive", "coordinator/runner/snapshots", "projections", "events", "events/bus"},
		"a backup is the log and what belongs to it: it knows nothing of the loop",
	},
	{
		"coordinator/runner/telemetry", false,
		[]string{"projections", "events", "events/bus"},
		"metrics follow from rounds and states: they know nothing of the decisions",
	},
	{
		"coordinator/runner/recorded", false,
		[]string{"projections", "events", "events/bus", "events/golden"},
		"recorded logs are on a bus for tests: they know nothing of their readers",
	},
	{"node/runner", false, []string{"node", "events", "events/bus"}, "the node's loop meets the coordinator on the bus alone"},
	{"node/podman", false, []string{"node", "node/podman", "events"}, "the adapter of Podman knows the engine's interface and no bus"},
	{"node/podman/podmantest", false, []string{"node", "node/podman", "events", "deploy"}, "tests of Podman bring their own images, and no bus"},
	{"node/simulated", false, []string{"node", "events"}, "the simulated engine knows the engine's interface and no bus"},
	{"schemas", false, []string{"events"}, "a schema is found by its type in package events"},
	{
		"schemas/generate", false,
		[]string{"schemas", "coordinator/runner/api", "coordinator/whatif", "projections/views", "events"},
		"schemas are generated from the types of all messages on the bus",
	},
	{"schemas/schematest", false, []string{"schemas", "events"}, "message bodies are checked against the published schemas"},
	{"deploy", false, nil, "files for a deployment depend on no other package of this module"},
	{"deploy/grafana", false, []string{"deploy/grafana"}, "dashboards query metrics by name: they know nothing of the code that measures"},
	{"cmd", false, []string{"*"}, "commands wire all packages together"},
	{
		"cmd/simulation/checker", false,
		[]string{"events", "events/bus", "node", "projections", "projections/views"},
		"the checker knows the invariants, and neither how the coordinator decides nor how a run is made",
	},
}

// door is an external module that only one package may import.
type door struct{ outside, room, why string }

var doors = []door{
	{"github.com/nats-io/nats.go/jetstream", "events/bus", "only events/bus speaks JetStream"},
	{"github.com/synadia-io/orbit.go/jetstreamext", "events/bus", "only events/bus speaks JetStream"},
	{"github.com/containers/podman/v5", "node/podman", "only node/podman speaks to Podman"},
	{"github.com/minio/minio-go/v7", "coordinator/runner/backup", "only coordinator/runner/backup speaks S3"},
	{"github.com/nats-io/nats-server/v2", "events/bus/embedded", "only events/bus/embedded runs a server"},
}

// telemetry is the module for instruments, measuring lists the packages that may use it, and wiring lists the parts of it that export
// figures. Only cmd wires these parts, because only cmd knows the collector.
const telemetry = "go.opentelemetry.io"

var (
	measuring = []string{"events/bus", "coordinator/runner", "coordinator/runner/backup", "coordinator/runner/telemetry", "node/runner", "node/podman"}
	wiring    = []string{telemetry + "/otel/sdk", telemetry + "/otel/exporters", telemetry + "/contrib"}
)

// unmeasured returns why a package under this entry must not import telemetry, or "" if it may.
func unmeasured(r room, imported string) string {
	switch {
	case !below(imported, telemetry) || r.path == "cmd":
		return ""
	case !slices.Contains(measuring, r.path):
		return "only runtime packages and adapters have instruments: return the value to measure"
	case slices.ContainsFunc(wiring, func(w string) bool { return below(imported, w) }):
		return "only cmd wires the collector of metrics: take a meter as an argument"
	}
	return ""
}

// touching lists packages that reach outside the process. Pure packages take the values that these would return as arguments.
var touching = []string{"net", "os", "log", "math/rand", "crypto/rand", "syscall", "io/fs"}

// textual lists packages below those that only read and write text, and open nothing.
var textual = []string{"net/url", "net/netip"}

// nameless lists names that do not say what a package is for.
var nameless = []string{"util", "utils", "common", "helpers", "models"}

func below(importPath, root string) bool {
	return importPath == root || strings.HasPrefix(importPath, root+"/")
}

// roomOf returns the entry for a package, by its path below the module.
func roomOf(inside string) (room, bool) {
	var found room
	for _, r := range law {
		if below(inside, r.path) && len(r.path) > len(found.path) {
			found = r
		}
	}
	return found, found.path != ""
}

// violations returns a message for each import or name that breaks the rules, with the reason.
func violations(packages []pkg) []string {
	var found []string
	for _, p := range packages {
		inside, ours := strings.CutPrefix(p.ImportPath, house+"/")
		if !ours {
			continue
		}
		if slices.Contains(nameless, p.Name) || slices.Contains(nameless, path.Base(inside)) {
			found = append(found, fmt.Sprintf("the name of %s does not say what the package is for: name a package for what it decides", inside))
		}
		r, ok := roomOf(inside)
		if !ok {
			found = append(found, fmt.Sprintf("%s has no import rule: add one in cmd/law_test.go", inside))
			continue
		}
		for _, imported := range p.Imports {
			if reason := forbidden(r, inside, imported); reason != "" {
				found = append(found, fmt.Sprintf("%s imports %s: %s", inside, strings.TrimPrefix(imported, house+"/"), reason))
			}
		}
	}
	return found
}

// forbidden returns why a package under this entry must not import the other, or "" if it may.
func forbidden(r room, inside, imported string) string {
	for _, d := range doors {
		if below(imported, d.outside) && !below(inside, d.room) && r.path != "cmd" {
			return d.why
		}
	}
	if reason := unmeasured(r, imported); reason != "" {
		return reason
	}
	for _, world := range touching {
		if r.pure && below(imported, world) && !slices.Contains(textual, imported) {
			return "pure packages do not reach outside the process: take the value as an argument"
		}
	}
	other, ours := strings.CutPrefix(imported, house+"/")
	if !ours || slices.Contains(r.may, "*") {
		return ""
	}
	if home, ok := roomOf(other); ok && slices.Contains(r.may, home.path) {
		return ""
	}
	return r.why
}

func TestThePackagesKeepTheImportLaw(t *testing.T) {
	packages := list(t)
	seen := map[string]bool{}
	for _, p := range packages {
		if r, ok := roomOf(strings.TrimPrefix(p.ImportPath, house+"/")); ok {
			seen[r.path] = true
		}
	}
	for _, must := range []string{"events", "projections", "coordinator", "node", "events/bus", "coordinator/runner", "cmd"} {
		if !seen[must] {
			t.Errorf("go list returned no package of %s: the test would prove nothing", must)
		}
	}
	for _, violation := range violations(packages) {
		t.Error(violation)
	}
}

// list asks go for every package of the module.
func list(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Name,Imports", house+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// TestTheLawFires shows that each rule finds the imports that it forbids, and allows the others.
func TestTheLawFires(t *testing.T) {
	for _, c := range []struct {
		from, imports string
		want          string // part of the reason; "" if the import is allowed
	}{
		{"events", house + "/projections", "imports no other package of this module"},
		{"projections", house + "/coordinator", "the fold knows events"},
		{"coordinator", house + "/node", "decisions are functions of the state"},
		{"coordinator", house + "/events/bus", "decisions are functions of the state"},
		{"node", house + "/coordinator", "never decides what should run"},
		{"node", house + "/projections", "never decides what should run"},
		{"events/bus/memory", house + "/projections", "knows nothing of what they mean"},
		{"coordinator/runner", house + "/node/runner", "meets nodes on the bus alone"},
		{"node/runner", house + "/coordinator/runner", "meets the coordinator on the bus alone"},
		{"coordinator/runner/api", house + "/coordinator/runner", "knows nothing of the loop"},
		{"coordinator/runner/snapshots", house + "/coordinator", "nothing of its caller"},
		{"coordinator/runner/telemetry", house + "/coordinator/runner/api", "nothing of the decisions"},
		{"coordinator/runner/api", "go.opentelemetry.io/otel/metric", "only runtime packages and adapters"},
		{"node/simulated", house + "/events/bus", "no bus"},
		{"projections/views", house + "/coordinator", "views write the fold"},
		{"events", "os", "do not reach outside the process"},
		{"events", "net/http", "do not reach outside the process"},
		{"coordinator", "math/rand/v2", "do not reach outside the process"},
		{"node", "log/slog", "do not reach outside the process"},
		{"coordinator/runner", "github.com/nats-io/nats.go/jetstream", "speaks JetStream"},
		{"node/runner", "github.com/containers/podman/v5/pkg/bindings", "speaks to Podman"},
		{"events/bus", "github.com/nats-io/nats-server/v2/server", "runs a server"},
		{"coordinator", "go.opentelemetry.io/otel/metric", "only runtime packages and adapters"},
		{"projections", "go.opentelemetry.io/otel/trace", "only runtime packages and adapters"},
		{"projections/views", "go.opentelemetry.io/otel/metric", "only runtime packages and adapters"},
		{"node/simulated", "go.opentelemetry.io/otel/metric", "only runtime packages and adapters"},
		{"coordinator/runner", "go.opentelemetry.io/otel/sdk/metric", "only cmd wires"},
		{"node/podman", "go.opentelemetry.io/otel/exporters/prometheus", "only cmd wires"},
		{"events/bus", "go.opentelemetry.io/contrib/exporters/autoexport", "only cmd wires"},
		{"common", "fmt", "does not say what the package is for"},
		{"attic", "fmt", "has no import rule"},
		{"events", "net/url", ""},
		{"events", "net/netip", ""},
		{"coordinator/runner", house + "/projections/views", ""},
		{"events/bus/memory", house + "/events/bus", ""},
		{"events/bus/embedded", "github.com/nats-io/nats-server/v2/server", ""},
		{"node/podman", "github.com/containers/podman/v5/pkg/bindings", ""},
		{"cmd/rookery", house + "/coordinator/runner", ""},
		{"cmd/simulation/checker", house + "/coordinator", "knows the invariants"},
		{"cmd/simulation/checker", house + "/cmd/simulation/world", "knows the invariants"},
		{"cmd/simulation/checker", house + "/projections/views", ""},
		{"cmd/simulation/world", house + "/cmd/simulation/checker", ""},
		{"coordinator/runner", house + "/coordinator/runner/api", ""},
		{"coordinator/runner", "time", ""},
		{"coordinator/runner", "go.opentelemetry.io/otel/metric", ""},
		{"node/podman", "go.opentelemetry.io/otel/attribute", ""},
		{"cmd/rookery/telemetry", "go.opentelemetry.io/otel/sdk/metric", ""},
	} {
		found := strings.Join(violations([]pkg{{ImportPath: house + "/" + c.from, Name: path.Base(c.from), Imports: []string{c.imports}}}), "; ")
		if (found == "") != (c.want == "") || !strings.Contains(found, c.want) {
			t.Errorf("%s imports %s: found %q, want %q", c.from, c.imports, found, c.want)
		}
	}
}
