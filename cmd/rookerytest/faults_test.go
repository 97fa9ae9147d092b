package rookerytest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
	noderunner "github.com/rookery-project/rookery/node/runner"
)

// web is the first instance of demo/web.
var web = events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Generation: 1}

const one = `{"image":"localhost/web:1","scale":1,"restart":{"delay":"1s"}}`

func listen(t *testing.T, cluster *rookerytest.Cluster) bus.Subscription {
	t.Helper()
	sub, err := cluster.Bus().Subscribe(events.EventRoot + ".>")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sub.Stop)
	return sub
}

// hear returns the next event of kind T.
func hear[T events.Data](t *testing.T, sub bus.Subscription) T {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case m := <-sub.Messages():
			if d, _, err := events.DecodeAs[T](m); err == nil {
				return d
			}
		case <-deadline:
			var none T
			t.Fatalf("no %s came", none.Kind())
		}
	}
}

func TestAKilledContainerIsStartedAgainAndTheEventsSaySo(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(1), rookerytest.WithLog(t.Output()))
	cluster.Ensure("demo/web", one)
	sub := listen(t, cluster)
	if !cluster.Nodes["node-0"].Kill(web, 3) {
		t.Fatal("no container runs")
	}
	offline := hear[events.InstanceOffline](t, sub)
	if offline.Attempt != 0 || offline.Reason != events.OfflineExited || offline.ExitCode == nil || *offline.ExitCode != 3 {
		t.Errorf("the exit is told as %+v", offline.InstanceSeen)
	}
	if online := hear[events.InstanceOnline](t, sub); online.Attempt != 1 || online.Generation != 1 {
		t.Errorf("the new attempt is told as %+v", online.InstanceSeen)
	}
	if made := cluster.Nodes["node-0"].Made(web); made != 2 {
		t.Errorf("%d containers were made, want 2", made)
	}
}

func TestANodeThatStartsAgainAdoptsWhatItHas(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(1), rookerytest.WithLog(t.Output()))
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":5}`)
	sub := listen(t, cluster)
	cluster.StopNode("node-0")
	if n := count(cluster, node.Running); n != 5 {
		t.Fatalf("%d containers run after the agent stopped, want 5", n)
	}
	cluster.StartNode("node-0")
	if joined := hear[events.NodeJoined](t, sub); joined.Epoch != 2 {
		t.Errorf("the new process has node epoch %d, want 2", joined.Epoch)
	}
	cluster.Command("demo/web", "scale", `{"scale":6}`)
	for ordinal := range uint32(6) {
		id := web
		id.Ordinal = ordinal
		if made := cluster.Nodes["node-0"].Made(id); made != 1 {
			t.Errorf("%d containers were made for %s, want 1", made, id)
		}
	}
}

func TestTheEarlierOfTwoProcessesOfOneNameStops(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(1), rookerytest.WithLog(t.Output()))
	cluster.Ensure("demo/web", one)
	conn, err := bus.New(cluster.Conn)
	if err != nil {
		t.Fatal(err)
	}
	second := noderunner.New(noderunner.Config{
		Bus: conn, Engine: cluster.Nodes["node-0"], Name: "node-0", Program: events.Program{Levels: events.OwnLevels}, Log: slog.New(slog.DiscardHandler), Heartbeat: 100 * time.Millisecond,
		Facts: events.NodeFacts{Address: "127.0.0.1", Ports: events.PortRange{First: 20_000, Last: 20_999}},
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sub := listen(t, cluster)
	ended := make(chan error, 1)
	go func() { ended <- second.Run(ctx) }()
	if joined := hear[events.NodeJoined](t, sub); joined.Epoch != 2 {
		t.Errorf("the second process has node epoch %d, want 2", joined.Epoch)
	}
	cluster.StartNode("node-0")
	if err := <-ended; !errors.Is(err, noderunner.ErrSuperseded) {
		t.Errorf("the earlier process ended with %v, want ErrSuperseded", err)
	}
	cluster.Command("demo/web", "scale", `{"scale":2}`)
}

func TestAnImageThatCannotBeHadIsTriedAgain(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(1), rookerytest.WithLog(t.Output()))
	engine := cluster.Nodes["node-0"]
	engine.Refuse("localhost/web:1", &node.Failure{Reason: events.OfflineImagePull, Message: "no such image"})
	sub := listen(t, cluster)
	sequence := cluster.Publish("demo/web", "ensure", one)
	offline := hear[events.InstanceOffline](t, sub)
	if offline.Reason != events.OfflineImagePull || offline.Message != "no such image" {
		t.Errorf("the failure is told as %+v", offline.InstanceSeen)
	}
	engine.Refuse("localhost/web:1", nil)
	if outcome := cluster.Outcome(sequence); outcome.Outcome != "succeeded" {
		t.Errorf("the command ended as %+v", outcome)
	}
}

func TestANodeThatLosesItsConnectionCatchesUp(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithLog(t.Output()))
	cluster.Ensure("demo/web", one)
	for scale := 2; scale <= 6; scale++ {
		for i := range 3 {
			cluster.CutNode(fmt.Sprintf("node-%d", i))
		}
		cluster.Command("demo/web", "scale", fmt.Sprintf(`{"scale":%d}`, scale))
	}
	if n := count(cluster, node.Running); n != 6 {
		t.Errorf("%d containers run, want 6", n)
	}
}
