package rookerytest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/coordinator/whatif"
	"github.com/rookery-project/rookery/events"
)

// TestWhatIfIsAskedOfALiveCluster asks a coordinator, and runs the program on its own: both give the same answer.
func TestWhatIfIsAskedOfALiveCluster(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":3}`)
	cluster.Ensure("demo/web", `{"image":"localhost/web:2","scale":2}`)
	var asked whatif.Report
	if !cluster.Ask("what-if", `{"policy":{"profile":"optimize-utilization"},"to":`+sequence(cluster)+`}`, &asked) {
		t.Fatal("no coordinator answers")
	}
	if asked.Real.Placed < 5 || asked.Real.Placed != asked.Same.Placed || asked.Policy.Profile != events.OptimizeUtilization {
		t.Errorf("the answer is %+v", asked)
	}
	file := writeFile(t, "tight.json", `{"profile":"optimize-utilization"}`)
	out, code := rookery(t, "what-if", "--policy", file, "--to", fmt.Sprint(asked.To), "--server", cluster.URL)
	if code != 0 || !strings.Contains(out, "instances placed") {
		t.Errorf("what-if: exit %d: %s", code, out)
	}
	for _, row := range []struct{ body, code, reason string }{
		{`{}`, "400", "give another policy or another capacity"},
		{`{"policy":{"profil":"x"}}`, "400", `did you mean "profile"`},
		{`{"policy":{},"from":"yesterday"}`, "400", "want a sequence as in 4711"},
		{`{"capacity":{"elsewhere":{"memory":"1GiB"}}}`, "400", "there is no node elsewhere"},
	} {
		m, err := cluster.Conn.Request(events.APIRoot+".what-if", []byte(row.body), 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if code, reason := m.Header.Get("Nats-Service-Error-Code"), m.Header.Get("Nats-Service-Error"); code != row.code || !strings.Contains(reason, row.reason) {
			t.Errorf("%s: %s %q, want %s %q", row.body, code, reason, row.code, row.reason)
		}
	}
	for _, args := range [][]string{{}, {"--capacity", "node-0.ram=1"}, {"--policy", file, "--from", "noon"}, {"--policy", file, "--from", "9", "--to", "3"}} {
		if out, code := rookery(t, append([]string{"what-if", "--server", cluster.URL}, args...)...); code != 2 {
			t.Errorf("what-if %v: exit %d: %s", args, code, out)
		}
	}
}

func sequence(c *rookerytest.Cluster) string { return fmt.Sprint(c.State().Sequence) }
