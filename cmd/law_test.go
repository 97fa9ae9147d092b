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

// pkg is what `go list` says of a package.
type pkg struct {
	ImportPath string
	Name       string
	Imports    []string
}

// room is one package of ours and what it may import of the house. Packages below it are rooms of their own or share
// its law. Those that are not pure may touch the world.
type room struct {
	path string
	pure bool
	may  []string
	why  string
}

// law is the import law: the longest path that fits counts. What is not named here must not exist.
var law = []room{
	{"events", true, nil, "the words depend on nothing in the house: everyone speaks them"},
	{"events/golden", true, []string{"events"}, "logs of before are words alone: whatever reads logs is tested with them"},
	{"projections", true, []string{"events", "projections/barrier"}, "the fold knows the words and nothing else: state is the fold of the log"},
	{
		"coordinator", true,
		[]string{"events", "projections", "projections/barrier", "coordinator/placement", "coordinator/operation"},
		"decisions are functions of the state: they meet nodes and the bus in events alone",
	},
	{
		"coordinator/operation", true,
		[]string{"events", "projections", "projections/barrier", "coordinator/placement"},
		"what becomes of an operation is a function of the state: it knows no command and no round",
	},
	{"projections/barrier", true, nil, "a barrier is a verdict over what is said to it: it knows neither services nor time"},
	{
		"coordinator/placement", true,
		[]string{"events", "projections"},
		"placement is a function of the state: it knows no command and no order",
	},
	{
		"coordinator/whatif", true,
		[]string{"coordinator", "events", "projections"},
		"what would have been is a function of the log and a policy: it decides as the coordinator does",
	},
	{
		"coordinator/capsule", true,
		[]string{"coordinator", "coordinator/placement", "events", "projections"},
		"a capsule is decided on as the coordinator does: whoever reads or writes one brings its bytes",
	},
	{
		"coordinator/archive", true,
		[]string{"coordinator/capsule", "events"},
		"an archive is messages of the log in lines: whoever reads or writes one brings its bytes",
	},
	{"node", true, []string{"events"}, "a node's steps follow from orders and what the engine has: it never decides what should run"},
	{"events/bus", false, []string{"events", "events/bus"}, "the door to the bus translates messages and knows nothing of what they mean"},
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
		"questions read the state through a port, and the log: they know nothing of the loop",
	},
	{
		"coordinator/runner/snapshots", false,
		[]string{"projections", "events", "events/bus"},
		"a fold begins with a snapshot or with the log: it knows nothing of who folds",
	},
	{
		"coordinator/runner/telemetry", false,
		[]string{"projections", "events", "events/bus"},
		"what is measured follows from rounds and states: it knows nothing of who decided them",
	},
	{
		"coordinator/runner/recorded", false,
		[]string{"projections", "events", "events/bus", "events/golden"},
		"recorded logs stand on a bus for tests: they know nothing of who reads them",
	},
	{"node/runner", false, []string{"node", "events", "events/bus"}, "the node's loop meets the coordinator on the bus alone"},
	{"node/podman", false, []string{"node", "node/podman", "events"}, "the door to Podman knows the engine's interface and no bus"},
	{"node/podman/podmantest", false, []string{"node", "node/podman", "events", "deploy"}, "tests of Podman bring their own images, and no bus"},
	{"node/simulated", false, []string{"node", "events"}, "the simulated engine knows the engine's interface and no bus"},
	{"schemas", false, []string{"events"}, "schemas are found by the words"},
	{
		"schemas/generate", false,
		[]string{"schemas", "coordinator/runner/api", "coordinator/whatif", "projections/views", "events"},
		"schemas are made from the types of all that is on the bus",
	},
	{"schemas/schematest", false, []string{"schemas", "events"}, "bodies are held to the schemas that stand"},
	{"deploy", false, nil, "what is deployed stands on its own"},
	{"deploy/grafana", false, []string{"deploy/grafana"}, "screens ask for metrics by name: they know nothing of who measures"},
	{"cmd", false, []string{"*"}, "commands wire everything"},
	{
		"cmd/simulation/checker", false,
		[]string{"events", "events/bus", "node", "projections", "projections/views"},
		"the checker knows what must be true, and neither how the coordinator decides nor how a run is made",
	},
}

// door is an outside that one room alone may import.
type door struct{ outside, room, why string }

var doors = []door{
	{"github.com/nats-io/nats.go/jetstream", "events/bus", "only events/bus speaks JetStream"},
	{"github.com/synadia-io/orbit.go/jetstreamext", "events/bus", "only events/bus speaks JetStream"},
	{"github.com/containers/podman/v5", "node/podman", "only node/podman speaks to Podman"},
	{"github.com/nats-io/nats-server/v2", "events/bus/embedded", "only events/bus/embedded runs a server"},
}

// telemetry is what instruments are made with, measuring are the rooms that may, and wiring is what in it carries figures away: that is
// put together in cmd alone, where it is known who collects.
const telemetry = "go.opentelemetry.io"

var (
	measuring = []string{"events/bus", "coordinator/runner", "coordinator/runner/telemetry", "node/runner", "node/podman"}
	wiring    = []string{telemetry + "/otel/sdk", telemetry + "/otel/exporters", telemetry + "/contrib"}
)

// unmeasured returns why a package of this room must not import what measures, or "" where it may.
func unmeasured(r room, imported string) string {
	switch {
	case !below(imported, telemetry) || r.path == "cmd":
		return ""
	case !slices.Contains(measuring, r.path):
		return "instruments are in shells and doors alone: return what is worth measuring"
	case slices.ContainsFunc(wiring, func(w string) bool { return below(imported, w) }):
		return "who collects what is measured is wired in cmd alone: take a meter"
	}
	return ""
}

// touching are packages that touch the world; pure packages take what they would have to say as an argument.
var touching = []string{"net", "os", "log", "math/rand", "crypto/rand", "syscall", "io/fs"}

// textual are packages below those that only read and write text, and open nothing.
var textual = []string{"net/url", "net/netip"}

// nameless are names that say nothing of what a package is for.
var nameless = []string{"util", "utils", "common", "helpers", "models"}

func below(importPath, root string) bool {
	return importPath == root || strings.HasPrefix(importPath, root+"/")
}

// roomOf returns the room that the package is in, by its path below the house.
func roomOf(inside string) (room, bool) {
	var found room
	for _, r := range law {
		if below(inside, r.path) && len(r.path) > len(found.path) {
			found = r
		}
	}
	return found, found.path != ""
}

// violations says for people what the packages do that the law forbids, and why it does.
func violations(packages []pkg) []string {
	var found []string
	for _, p := range packages {
		inside, ours := strings.CutPrefix(p.ImportPath, house+"/")
		if !ours {
			continue
		}
		if slices.Contains(nameless, p.Name) || slices.Contains(nameless, path.Base(inside)) {
			found = append(found, fmt.Sprintf("%s is named for nothing: name a package for what it decides", inside))
		}
		r, ok := roomOf(inside)
		if !ok {
			found = append(found, fmt.Sprintf("%s has no place in the law: give it one in cmd/law_test.go", inside))
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

// forbidden returns why a package of this room must not import the other, or "" where it may.
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
			return "pure packages do not touch the world: take what it would say as an argument"
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
			t.Errorf("no package of %s was looked at: the law would hold of nothing", must)
		}
	}
	for _, violation := range violations(packages) {
		t.Error(violation)
	}
}

// list asks go for every package of the house.
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

// TestTheLawFires shows that each part of the law finds what it forbids, and lets through what it does not.
func TestTheLawFires(t *testing.T) {
	for _, c := range []struct {
		from, imports string
		want          string // part of the reason; "" where it is allowed
	}{
		{"events", house + "/projections", "depend on nothing in the house"},
		{"projections", house + "/coordinator", "the fold knows the words"},
		{"coordinator", house + "/node", "decisions are functions of the state"},
		{"coordinator", house + "/events/bus", "decisions are functions of the state"},
		{"node", house + "/coordinator", "never decides what should run"},
		{"node", house + "/projections", "never decides what should run"},
		{"events/bus/memory", house + "/projections", "knows nothing of what they mean"},
		{"coordinator/runner", house + "/node/runner", "meets nodes on the bus alone"},
		{"node/runner", house + "/coordinator/runner", "meets the coordinator on the bus alone"},
		{"coordinator/runner/api", house + "/coordinator/runner", "know nothing of the loop"},
		{"coordinator/runner/snapshots", house + "/coordinator", "nothing of who folds"},
		{"coordinator/runner/telemetry", house + "/coordinator/runner/api", "nothing of who decided"},
		{"coordinator/runner/api", "go.opentelemetry.io/otel/metric", "in shells and doors alone"},
		{"node/simulated", house + "/events/bus", "no bus"},
		{"projections/views", house + "/coordinator", "views write the fold"},
		{"events", "os", "do not touch the world"},
		{"events", "net/http", "do not touch the world"},
		{"coordinator", "math/rand/v2", "do not touch the world"},
		{"node", "log/slog", "do not touch the world"},
		{"coordinator/runner", "github.com/nats-io/nats.go/jetstream", "speaks JetStream"},
		{"node/runner", "github.com/containers/podman/v5/pkg/bindings", "speaks to Podman"},
		{"events/bus", "github.com/nats-io/nats-server/v2/server", "runs a server"},
		{"coordinator", "go.opentelemetry.io/otel/metric", "in shells and doors alone"},
		{"projections", "go.opentelemetry.io/otel/trace", "in shells and doors alone"},
		{"projections/views", "go.opentelemetry.io/otel/metric", "in shells and doors alone"},
		{"node/simulated", "go.opentelemetry.io/otel/metric", "in shells and doors alone"},
		{"coordinator/runner", "go.opentelemetry.io/otel/sdk/metric", "wired in cmd alone"},
		{"node/podman", "go.opentelemetry.io/otel/exporters/prometheus", "wired in cmd alone"},
		{"events/bus", "go.opentelemetry.io/contrib/exporters/autoexport", "wired in cmd alone"},
		{"common", "fmt", "named for nothing"},
		{"attic", "fmt", "has no place in the law"},
		{"events", "net/url", ""},
		{"events", "net/netip", ""},
		{"coordinator/runner", house + "/projections/views", ""},
		{"events/bus/memory", house + "/events/bus", ""},
		{"events/bus/embedded", "github.com/nats-io/nats-server/v2/server", ""},
		{"node/podman", "github.com/containers/podman/v5/pkg/bindings", ""},
		{"cmd/rookery", house + "/coordinator/runner", ""},
		{"cmd/simulation/checker", house + "/coordinator", "what must be true"},
		{"cmd/simulation/checker", house + "/cmd/simulation/world", "what must be true"},
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
