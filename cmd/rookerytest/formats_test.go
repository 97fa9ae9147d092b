package rookerytest_test

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
)

// TestCommandsPrintInTheFormatThatIsAskedFor runs each command that reads, with its text, wide, JSON and YAML output. JSON and YAML hold
// the same values.
func TestCommandsPrintInTheFormatThatIsAskedFor(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(1))
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":1}`)
	cluster.Command("demo/web", "restart", `{}`)
	if !cluster.Nodes["node-0"].Print(events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Generation: 2}, "it serves") {
		t.Fatal("the instance does not run")
	}
	prints := func(command string, format ...string) string {
		t.Helper()
		out, code := rookery(t, append(append(strings.Fields(command), "--server", cluster.URL), format...)...)
		if code != 0 {
			t.Fatalf("%s %v ends with %d: %s", command, format, code, out)
		}
		return out
	}
	for _, command := range []string{
		"ps", "services", "nodes", "ops", "events demo/web", "replay --speed 0 --from 1", "history demo/web", "state --at 20", "diff --from 15 --to 25",
		"explain demo/web", "logs demo/web", "bus check", "bus init",
	} {
		asJSON := values(t, command, json.NewDecoder(strings.NewReader(prints(command, "-o", "json"))).Decode)
		asYAML := values(t, command, yaml.NewDecoder(strings.NewReader(prints(command, "-o", "yaml"))).Decode)
		if !reflect.DeepEqual(asJSON, asYAML) {
			t.Errorf("%s prints as JSON\n%v\nand as YAML\n%v", command, asJSON, asYAML)
		}
		if strings.HasPrefix(prints(command, "-o", "yaml"), "{") {
			t.Errorf("%s prints JSON where YAML is asked for", command)
		}
		if plain := prints(command); json.Valid([]byte(plain)) || strings.Contains(plain, "\x1b") {
			t.Errorf("%s prints as text %s, want neither JSON nor escape sequences", command, plain)
		}
	}
	for _, command := range []string{"ps", "services", "nodes", "ops", "events demo/web", "replay --speed 0 --from 1"} {
		plain, _, _ := strings.Cut(prints(command), "\n")
		wide, _, _ := strings.Cut(prints(command, "-o", "wide"), "\n")
		if len(strings.Fields(wide)) <= len(strings.Fields(plain)) {
			t.Errorf("%s begins with %q, and wide with %q", command, plain, wide)
		}
	}
}

// values are all that a decoder reads, at least one, with numbers as JSON has them.
func values(t *testing.T, command string, decode func(any) error) []any {
	t.Helper()
	var all []any
	for {
		var v any
		err := decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s prints what does not read: %v", command, err)
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		t.Errorf("%s prints nothing", command)
	}
	body, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var plain []any
	if err := json.Unmarshal(body, &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}
