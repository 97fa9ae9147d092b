package rookerytest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
)

// decided is what `rookery explain --output json` prints.
type decided struct {
	Sequence uint64
	Node     string
	Holds    string
	Hold     struct{ Node, Service string }
	Nodes    []struct {
		Node, Removed string
		Score         int64
	}
}

func explained(t *testing.T, cluster *rookerytest.Cluster, args ...string) decided {
	t.Helper()
	out, code := rookery(t, append([]string{"explain", "--output", "json", "--server", cluster.URL}, args...)...)
	if code != 0 {
		t.Fatalf("explain %v: exit %d: %s", args, code, out)
	}
	var d decided
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return d
}

// TestExplainDecidesOnceMore makes one instance be placed and another wait, as an operator does with the nats CLI. It then explains both
// decisions from the log.
func TestExplainDecidesOnceMore(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(3))
	cluster.Ensure("demo/each", `{"image":"localhost/web:1","scale":3,"max_per_node":1}`) // every node has joined
	ask(t, cluster, "rookery.cmd.node.node-0.pause", `{}`)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":2,"max_per_node":1}`)
	first := explained(t, cluster, "demo/web/0")
	if len(first.Nodes) != 3 || first.Nodes[0].Node != first.Node || first.Nodes[2].Removed != "paused" {
		t.Errorf("the first instance: %+v", first)
	}
	cluster.Publish("demo/web", "scale", `{"scale":3}`)
	cluster.Until("the third waits", func() bool {
		out, _ := rookery(t, "ps", "--server", cluster.URL)
		return strings.Contains(out, "pending (of 3 nodes 1 paused, 2 with max_per_node instances)")
	})
	waits := explained(t, cluster, "demo/web/2")
	for _, n := range waits.Nodes {
		if n.Removed != "max_per_node" && n.Removed != "paused" {
			t.Errorf("%s is %q", n.Node, n.Removed)
		}
	}
	ask(t, cluster, "rookery.cmd.node.node-0.resume", `{}`)
	cluster.Until("the third is placed", func() bool { return explained(t, cluster, "demo/web/2").Node == "node-0" })
	if again := explained(t, cluster, "demo/web", "--sequence", jsonNumber(first.Sequence)); again.Node != first.Node {
		t.Errorf("the first decision is explained as %+v later, and was %+v", again, first)
	}
	cluster.CheckReplay()
}

// TestExplainSaysForWhomANodeIsHeld adds a small service while a large one waits for a node. The small service gets the space once the
// large one is deleted.
func TestExplainSaysForWhomANodeIsHeld(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(1))
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","requests":{"memory":"8GiB"}}`)
	pending := func(why string) {
		t.Helper()
		cluster.Until("it waits: "+why, func() bool {
			out, _ := rookery(t, "ps", "--server", cluster.URL)
			return strings.Contains(out, why)
		})
	}
	cluster.Publish("demo/large", "ensure", `{"image":"localhost/web:1","requests":{"memory":"12GiB"}}`)
	pending("pending (of 1 nodes 1 with too little memory left; node-0 lacks least: 4.0 GiB of memory; node-0 is held for it)")
	cluster.Publish("demo/small", "ensure", `{"image":"localhost/web:1","requests":{"memory":"1GiB"}}`)
	pending("pending (of 1 nodes 1 held for demo/large, which has waited longer)")
	if large := explained(t, cluster, "demo/large"); large.Holds != "node-0" || large.Hold.Node != "" {
		t.Errorf("the large one waits: %+v", large)
	}
	small := explained(t, cluster, "demo/small")
	if small.Hold.Node != "node-0" || small.Hold.Service != "demo/large" || small.Nodes[0].Removed != "held" {
		t.Errorf("the small one waits: %+v", small)
	}
	if out, _ := rookery(t, "explain", "demo/small", "--server", cluster.URL); !strings.Contains(out, "\nnode-0 was held for demo/large, which had waited since ") {
		t.Errorf("it is explained as %s", out)
	}
	cluster.Publish("demo/large", "drop", `{}`)
	cluster.Until("the small one is placed", func() bool { return explained(t, cluster, "demo/small").Node == "node-0" })
	cluster.CheckReplay()
}

func jsonNumber(n uint64) string {
	text, err := json.Marshal(n)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// ask publishes a command as `nats req` does, and waits until it has succeeded.
func ask(t *testing.T, cluster *rookerytest.Cluster, subject, body string) {
	t.Helper()
	fates, err := cluster.Conn.SubscribeSync("rookery.event.command.>")
	if err != nil {
		t.Fatal(err)
	}
	defer fates.Unsubscribe() //nolint:errcheck // the connection ends with the test
	if _, err := cluster.Conn.Request(subject, []byte(body), 5*time.Second); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := fates.NextMsg(30 * time.Second)
		switch {
		case err != nil:
			t.Fatalf("%s: %v", subject, err)
		case strings.HasSuffix(m.Subject, ".succeeded"):
			return
		case strings.HasSuffix(m.Subject, ".rejected"):
			t.Fatalf("%s: %s", subject, m.Data)
		}
	}
}

func TestPolicyIsChangedByOneCommand(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(2))
	ask(t, cluster, "rookery.cmd.cluster.policy", `{"profile":"optimize-utilization","same_zone":0}`)
	cluster.Ensure("demo/pack", `{"image":"localhost/web:1","scale":4,"requests":{"cpu":"1"}}`)
	node := explained(t, cluster, "demo/pack/0").Node
	for _, slot := range []string{"demo/pack/1", "demo/pack/2", "demo/pack/3"} {
		if other := explained(t, cluster, slot).Node; other != node {
			t.Errorf("%s is on %s, and the first on %s: the load is to be packed", slot, other, node)
		}
	}
	cluster.CheckReplay()
}
