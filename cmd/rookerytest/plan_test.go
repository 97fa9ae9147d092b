package rookerytest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// TestAPlanIsWhatHappens makes a coordinator plan an update of a service on the real Podman. The nodes do nothing before the command, and
// then exactly what was planned.
func TestAPlanIsWhatHappens(t *testing.T) {
	t.Parallel()
	r := startReal(t)
	r.Ensure("demo/web", fmt.Sprintf(`{"image":%q,"scale":2,"stop_grace":"1s"}`, podmantest.WebReference))
	next := fmt.Sprintf(`{"image":%q,"scale":3,"stop_grace":"1s","env":{"SAY":"two"},"update":{"min_healthy":"1s"}}`, podmantest.WebReference)
	var p coordinator.Plan
	if !r.Ask("plan", `{"namespace":"demo","name":"web","verb":"ensure","body":`+next+`}`, &p) {
		t.Fatal("no coordinator answers the question plan")
	}
	var actions []string
	for _, s := range p.Slots {
		actions = append(actions, fmt.Sprintf("%d %s wave %d", s.Ordinal, s.Action, s.Wave))
	}
	if got, want := strings.Join(actions, ", "), "0 replace wave 1, 1 replace wave 2, 2 create wave 0"; got != want || p.Revision != 2 || p.Waves != 2 {
		t.Errorf("planned is %s in revision %d and %d waves, want %s", got, p.Revision, p.Waves, want)
	}
	if got := strings.Join(r.generations(), " "); got != "0.1 1.1" {
		t.Errorf("after the planning there run %s", got)
	}
	file := writeFile(t, "web.json", next)
	if out, code := rookery(t, "plan", "demo/web", "--file", file, "--server", r.URL); code != 0 || !strings.Contains(out, "replace") {
		t.Errorf("plan: exit %d: %s", code, out)
	}
	if out, code := rookery(t, "ensure", "demo/web", "--file", file, "--if-seq", fmt.Sprint(p.Sequence), "--server", r.URL); code != 0 {
		t.Errorf("what was planned: exit %d: %s", code, out)
	}
	if got := strings.Join(r.generations(), " "); got != "0.2 1.2 2.1" {
		t.Errorf("after what was planned there run %s", got)
	}
	if out, code := rookery(t, "ensure", "demo/web", "--file", writeFile(t, "old.json", `{"image":"localhost/none:1"}`),
		"--if-seq", fmt.Sprint(p.Sequence), "--server", r.URL); code != 3 || !strings.Contains(out, "changed") {
		t.Errorf("what was planned before the service changed: exit %d: %s", code, out)
	}
	if out, code := rookery(t, "plan", "demo/web", "--file", writeFile(t, "bad.json", `{"imag":"x"}`), "--server", r.URL); code != 1 || !strings.Contains(out, `did you mean "image"`) {
		t.Errorf("a plan of an invalid spec: exit %d: %s", code, out)
	}
	r.CheckReplay()
}

// writeFile writes a file that goes with the test, and returns its path.
func writeFile(t *testing.T, name, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
