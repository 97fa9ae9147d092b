package rookerytest_test

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node/runner"
	"github.com/rookery-project/rookery/node/simulated"
	"github.com/rookery-project/rookery/projections"
)

// startInZone runs a simulated node in a zone until stop is called.
func startInZone(t *testing.T, cluster *rookerytest.Cluster, name, zone string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	agent := runner.New(runner.Config{
		Bus: cluster.Bus(), Engine: simulated.New(events.Capacity{CPU: 8, Memory: 16 << 30}), Name: name, Program: events.Program{Levels: events.OwnLevels}, Log: slog.New(slog.DiscardHandler),
		Heartbeat: 500 * time.Millisecond,
		Facts:     events.NodeFacts{Address: "127.0.0.1", Zone: zone, Ports: events.PortRange{First: 20000, Last: 20999}},
	})
	go func() { ended <- agent.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("node %s ended with %v", name, err)
		}
	}
}

// TestAServiceIsSpread runs one node in a zone and four in another. Of eight instances, each node has at most two, and both zones have
// some. When the single node ends, at least six serve all the time, and then eight again.
func TestAServiceIsSpread(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(0))
	stops := map[string]func(){}
	for name, zone := range map[string]string{"n1": "a", "n2": "b", "n3": "b", "n4": "b", "n5": "b"} {
		stops[name] = startInZone(t, cluster, name, zone)
	}
	defer func() {
		for _, name := range slices.Sorted(maps.Keys(stops)) {
			stops[name]()
		}
	}()
	cluster.Until("all nodes have joined", func() bool { return cluster.State().Nodes == len(stops) })
	ask(t, cluster, "rookery.cmd.cluster.policy", `{"liveness":{"lost_after":"10s"}}`)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":8}`)
	before := cluster.State().Sequence
	on := map[string]int{}
	for i := range cluster.Replay(func([]events.Record) {}).Services[web.Service].Instances() {
		on[i.Node]++
	}
	if len(on) != len(stops) || slices.Max(slices.Collect(maps.Values(on))) > 2 {
		t.Errorf("the instances are spread as %v", on)
	}
	stops["n1"]()
	delete(stops, "n1")
	least, state := 8, projections.NewCluster()
	cluster.Until("all serve again, and none on the node that is gone", func() bool {
		least, state = 8, projections.NewCluster()
		cluster.Replay(func(records []events.Record) {
			for _, r := range records {
				if closed, ends := r.Data.(events.RoundClosed); ends {
					state.Close(r.Sequence, closed, events.Chain{})
				} else if err := state.Apply(r); err != nil {
					t.Fatal(err)
				}
			}
			if state.Sequence > before {
				least = min(least, serving(state))
			}
		})
		return state.Nodes["n1"].Lost && serving(state) == 8
	})
	if least < 6 {
		t.Errorf("only %d served at one time", least)
	}
	t.Logf("by node %v, at least %d served", on, least)
}

// serving counts the instances of demo/web that serve on nodes that send heartbeats.
func serving(state *projections.Cluster) (count int) {
	for _, slot := range state.Services[web.Service].Slots {
		if i := slot.Current; i != nil && i.Seen.Phase == events.PhaseOnline && !i.Lost && state.Nodes[i.Node].Live() {
			count++
		}
	}
	return count
}
