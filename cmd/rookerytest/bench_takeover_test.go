package rookerytest_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/coordinator/runner/api"
)

// instancesOf is how many instances the coordinator of BenchmarkTakeover leads.
var instancesOf = flag.Int("instances", 5_000, "how many instances there are in BenchmarkTakeover")

// BenchmarkTakeover kills the only coordinator of a large fleet and starts it again, and then the leading one of two. It measures how long it
// takes until a command has ended that was sent meanwhile.
func BenchmarkTakeover(b *testing.B) {
	const nodes, services = 200, 10
	for b.Loop() {
		cluster := startCluster(b, rookerytest.WithoutCoordinator(), rookerytest.WithNodes(nodes))
		first := startCoordinator(b, cluster)
		began := time.Now()
		for n := range services {
			sequence := cluster.Publish(fmt.Sprintf("demo/s%d", n), "ensure", fmt.Sprintf(`{"image":"localhost/web:1","scale":%d}`, *instancesOf/services))
			ends(b, cluster, sequence)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s-until-all-serve")
		takeover := func(leader *process, name string, start func()) {
			leader.kill()
			began := time.Now()
			sequence := cluster.Publish("demo/"+name, "ensure", `{"image":"localhost/web:1","update":{"min_healthy":"0s"}}`)
			start()
			ends(b, cluster, sequence)
			b.ReportMetric(time.Since(began).Seconds(), "s-"+name)
		}
		var second *process
		takeover(first, "the-only-one", func() { second = startCoordinator(b, cluster) })
		third := startCoordinator(b, cluster)
		var state api.ClusterState
		standing := func() bool {
			return cluster.Ask("state", `{"live":true}`, &state) && !state.Leading
		}
		for late := time.Now().Add(patience); !standing(); {
			if time.Now().After(late) {
				b.Fatal("the second coordinator does not stand by")
			}
		}
		takeover(second, "with-a-standby", func() {})
		third.kill()
	}
}

// patience bounds what a large fleet takes, or a cluster whose servers have all ended.
const patience = 15 * time.Minute

// ends waits until the command has succeeded.
func ends(t testing.TB, cluster *rookerytest.Cluster, sequence uint64) {
	t.Helper()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	late := time.After(patience)
	for {
		var outcome api.Command
		if cluster.Ask("command", fmt.Sprintf(`{"sequence":%d}`, sequence), &outcome) && outcome.Outcome != "accepted" {
			if outcome.Outcome != "succeeded" {
				t.Fatalf("command %d ended as %+v", sequence, outcome)
			}
			return
		}
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("command %d has not ended within %s", sequence, patience)
		}
	}
}
