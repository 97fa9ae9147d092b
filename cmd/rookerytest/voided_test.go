package rookerytest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/coordinator/whatif"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// TestWhatIsVoidIsReadByNobody has events in the log that read well and that no round closes, as a crash of the server leaves them: a command,
// a revision and a placement. The next leader voids them, and whatever reads the log leaves them out.
func TestWhatIsVoidIsReadByNobody(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithoutCoordinator(), rookerytest.WithNodes(2))
	leader := startCoordinator(t, cluster)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":1}`)
	id := cluster.State().Log
	leader.kill()
	before, err := cluster.Bus().State(t.Context(), bus.Log)
	if err != nil {
		t.Fatal(err)
	}

	const torn = 471147114711 // the command's sequence, which is in no hash
	scope := events.ServiceScope(events.ServiceID{Namespace: "demo", Name: "web"})
	spec := events.Spec{Image: "localhost/torn:1"}
	for i, data := range []events.Data{
		events.CommandAccepted{CommandIdentity: events.CommandIdentity{Sequence: torn, Verb: "ensure", ID: "torn", Source: "/torn"}},
		events.ServiceRevised{Revision: 2, Spec: spec, Hash: spec.Hash()},
		events.InstancePlaced{Ordinal: 0, Generation: 2, Revision: 2, Node: "torn"},
	} {
		m, err := events.Record{
			Event: events.Event{Scope: scope, Data: data}, Sequence: before.Last + 1 + uint64(i), Time: time.Now(),
		}.Message(id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cluster.Bus().Publish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	startCoordinator(t, cluster)
	cluster.Command("demo/web", "scale", scaleBody(2))
	state := cluster.State()

	for _, args := range []string{
		"events", "events demo/web --output json", "history demo/web --output json", "replay", "replay --output json",
		fmt.Sprintf("replay --from %d --to %d", before.Last+1, state.Sequence),
		"explain demo/web/0 --output json", "explain demo/web/1 --output json", "state --output json",
		fmt.Sprintf("state --seq %d --output json", before.Last+2),
		fmt.Sprintf("diff --from %d --output json", before.Last),
	} {
		out, code := rookery(t, append(strings.Fields(args), "--server", cluster.URL)...)
		if code != 0 || strings.Contains(out, "torn") || strings.Contains(out, fmt.Sprint(torn)) {
			t.Errorf("%s: exit %d: %s", args, code, out)
		}
	}
	out, code := rookery(t, "explain", "demo/web", "--sequence", fmt.Sprint(before.Last+3), "--server", cluster.URL)
	if code != 1 || !strings.Contains(out, "has no decision on a node for demo/web that fits") {
		t.Errorf("what is void is explained: exit %d: %s", code, out)
	}
	var report whatif.Report
	askUntil(t, cluster, "what-if", `{"policy":{"profile":"optimize-utilization"},"from":1}`, &report)
	file := filepath.Join(t.TempDir(), "bug.json")
	if out, code := rookery(t, "capsule", "--to", fmt.Sprint(state.Sequence), "--out", file, "--server", cluster.URL); code != 0 {
		t.Fatalf("capsule: exit %d: %s", code, out)
	}
	if found := check(t, file); found.Differs != nil || found.Hash != state.Hash || found.Commands != 2 {
		t.Errorf("the capsule is found to be %+v, and the state has hash %s", found, state.Hash)
	}
	cluster.CheckReplay()
}
