package rookerytest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookerytest"
)

// moved is what `rookery rebalance --output json` prints.
type moved struct {
	Moves []struct {
		Service, From, To string
		Ordinal           int
		Gain              int64
	}
	Ended *struct {
		Moved  int
		Reason string
	}
}

func rebalance(t *testing.T, cluster *rookerytest.Cluster, args ...string) (moved, int) {
	t.Helper()
	out, code := rookery(t, append([]string{"rebalance", "--server", cluster.URL, "--output", "json"}, args...)...)
	var m moved
	if at := strings.Index(out, "{"); at < 0 || json.NewDecoder(strings.NewReader(out[at:])).Decode(&m) != nil {
		t.Fatalf("rebalance %v: exit %d: %s", args, code, out)
	}
	return m, code
}

// TestRebalanceFillsANodeThatComes runs all instances on one node, and moves half of them to a second node, by a plan.
func TestRebalanceFillsANodeThatComes(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(2))
	cluster.Ensure("demo/each", `{"image":"localhost/web:1","scale":2,"max_per_node":1}`) // every node has joined
	ask(t, cluster, "rookery.cmd.node.node-1.pause", `{}`)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":4,"requests":{"cpu":"1"},"ports":[{"name":"http","port":80}]}`)
	ask(t, cluster, "rookery.cmd.node.node-1.resume", `{}`)

	plan, code := rebalance(t, cluster)
	if code != 2 || len(plan.Moves) != 2 || plan.Ended != nil {
		t.Fatalf("the plan without a terminal is %+v, exit %d", plan, code)
	}
	for _, m := range plan.Moves {
		if m.Service != "demo/web" || m.From != "node-0" || m.To != "node-1" || m.Gain < 10_000 {
			t.Errorf("planned is %+v", m)
		}
	}
	done, code := rebalance(t, cluster, "--yes")
	if code != 0 || done.Ended == nil || done.Ended.Moved != 2 || done.Ended.Reason != "done" {
		t.Fatalf("carried out was %+v, exit %d", done, code)
	}
	for _, m := range plan.Moves {
		if got := explained(t, cluster, m.Service+"/"+jsonNumber(uint64(m.Ordinal))); got.Node != m.To {
			t.Errorf("%s/%d is explained to be on %s, and was to move to %s", m.Service, m.Ordinal, got.Node, m.To)
		}
	}
	if again, code := rebalance(t, cluster, "--yes"); code != 0 || len(again.Moves) != 0 || again.Ended != nil {
		t.Errorf("after it there is %+v, exit %d", again, code)
	}
	if _, code := rookery(t, "rebalance", "--server", cluster.URL, "--min-gain", "101"); code != 2 {
		t.Errorf("a gain of 101 points: exit %d", code)
	}
	cluster.CheckReplay()
}

// TestANodeThatJoinsIsFilled checks the same for nodes that join, once an operator has asked for that.
func TestANodeThatJoinsIsFilled(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(2))
	cluster.Ensure("demo/each", `{"image":"localhost/web:1","scale":2,"max_per_node":1}`)
	ask(t, cluster, "rookery.cmd.cluster.rebalance", `{"when":"node-joins","max_moves":1}`)
	cluster.Command("demo/each", "drop", `{}`)
	cluster.StopNode("node-1")
	ask(t, cluster, "rookery.cmd.node.node-1.pause", `{}`)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":4,"requests":{"cpu":"1"}}`)
	ask(t, cluster, "rookery.cmd.node.node-1.resume", `{}`)
	cluster.StartNode("node-1")
	cluster.Until("one instance has moved to it", func() bool {
		out, _ := rookery(t, "events", "--server", cluster.URL)
		return strings.Contains(out, "rebalance-ended (max-moves) after 1 moved")
	})
	cluster.CheckReplay()
}
