package rookerytest_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	coordinator "github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// instancesOf is how many instances the coordinator of BenchmarkTakeover leads.
var instancesOf = flag.Int("instances", 5_000, "how many instances there are in BenchmarkTakeover")

// BenchmarkTakeover starts instances on 1,000 nodes, whose heartbeats are as often as in production, with a real server. It counts the nodes
// that the coordinator took for silent meanwhile: all are well. Then it kills the only coordinator and starts it again, and then the leading
// one of two. It measures how long it takes until a command has ended that was sent meanwhile.
func BenchmarkTakeover(b *testing.B) {
	const nodes, services = 1_000, 100
	for b.Loop() {
		server, url := startServer(b, b.TempDir(), anyPort)
		cluster := rookerytest.Start(b, rookerytest.WithServer(url), rookerytest.WithoutCoordinator(), rookerytest.WithNodes(0))
		start := func() *process { return startProcess(b, "coordinator", "--server", url) }
		first := start()
		var silent atomic.Int64
		if _, err := cluster.Conn.Subscribe(events.EventRoot+".node.*.silent", func(*nats.Msg) { silent.Add(1) }); err != nil {
			b.Fatal(err)
		}
		joined := joining(b, cluster.Bus(), nodes)
		for i := range nodes {
			startSimulated(b, connect(b, "node", url), i, coordinator.DefaultHeartbeat)
		}
		joined()
		began := time.Now()
		var asked []uint64
		for n := range services {
			asked = append(asked, cluster.Publish(fmt.Sprintf("demo/s%d", n), "ensure", fmt.Sprintf(`{"image":"localhost/web:1","scale":%d}`, *instancesOf/services)))
		}
		for _, sequence := range asked {
			ends(b, cluster, sequence)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s-until-all-serve")
		b.ReportMetric(peakMemory(b, first.cmd.Process.Pid), "MiB-leader")
		b.ReportMetric(restingMemory(b, first.cmd.Process.Pid), "MiB-leader-at-rest")
		b.ReportMetric(sizeOfViews(b, cluster.Bus()), "MiB-views")
		takeover := func(leader *process, name string, follow func() *process) {
			leader.kill()
			began := time.Now()
			sequence := cluster.Publish("demo/"+name, "ensure", `{"image":"localhost/web:1","update":{"min_healthy":"0s"}}`)
			next := follow()
			cluster.Until("another coordinator leads", func() bool { return strings.Contains(next.output.String(), "msg=leading") })
			b.ReportMetric(time.Since(began).Seconds(), "s-until-"+name+"-leads")
			ends(b, cluster, sequence)
			b.ReportMetric(time.Since(began).Seconds(), "s-until-"+name+"-decides")
		}
		var second *process
		takeover(first, "a-new-one", func() *process {
			second = start()
			return second
		})
		third := start()
		var state api.ClusterState
		standing := func() bool {
			return cluster.Ask("state", `{"live":true}`, &state) && !state.Leading
		}
		cluster.Until("the third coordinator stands by", standing)
		takeover(second, "a-standby", func() *process { return third })
		b.ReportMetric(peakMemory(b, third.cmd.Process.Pid), "MiB-standby")
		b.ReportMetric(peakMemory(b, server.cmd.Process.Pid), "MiB-server")
		b.ReportMetric(float64(silent.Load()), "well-nodes-silent")
		third.kill()
	}
}

// restingMemory waits until a process that has done its work gives no memory back for a minute, and returns how many MiB it keeps.
func restingMemory(b *testing.B, pid int) float64 {
	b.Helper()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	least := memoryOf(b, pid, "VmRSS")
	for fell := time.Now(); time.Since(fell) < time.Minute; {
		<-look.C
		if now := memoryOf(b, pid, "VmRSS"); now < least {
			least, fell = now, time.Now()
		}
	}
	return least
}

// sizeOfViews returns how many MiB the server keeps for the views.
func sizeOfViews(b *testing.B, of *bus.JetStream) float64 {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), settlesWithin)
	defer cancel()
	kept, err := of.Copies(ctx)
	if err != nil {
		b.Fatal(err)
	}
	size := uint64(0)
	for _, c := range kept {
		if slices.Contains(bus.Views, c.Name) {
			size += c.Bytes
		}
	}
	const mebi = 1 << 20
	return float64(size) / mebi
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
