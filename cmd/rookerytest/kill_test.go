package rookerytest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// seed gives the test's choices, and says how to make them again.
func seed(t testing.TB) *rand.Rand {
	n := uint64(time.Now().UnixNano())
	t.Logf("seed %d", n)
	return rand.New(rand.NewPCG(n, n))
}

// TestCoordinatorKilledAtAnyPoint kills the coordinator's process with SIGKILL while it scales from 3 to 50, after any
// number of events, and starts another, a hundred times.
func TestCoordinatorKilledAtAnyPoint(t *testing.T) {
	t.Parallel()
	kills, clusters := 100, 5
	if testing.Short() {
		kills, clusters = 3, 1
	}
	for i := range clusters {
		t.Run(fmt.Sprintf("cluster %d", i+1), func(t *testing.T) {
			t.Parallel()
			killAtAnyPoint(t, kills/clusters)
		})
	}
}

func killAtAnyPoint(t *testing.T, kills int) {
	t.Helper()
	random := seed(t)
	cluster := startCluster(t, rookerytest.WithoutCoordinator())
	leader := startCoordinator(t, cluster)
	commands := []uint64{cluster.Publish("demo/web", "ensure", `{"image":"localhost/web:1","scale":3,"ports":[{"name":"http","port":8080}]}`)}
	cluster.Outcome(commands[0])
	for range kills {
		up := killAfter(t, cluster, leader, random.IntN(200))
		leader = startCoordinator(t, cluster)
		if random.IntN(2) == 0 {
			cluster.Outcome(up) // half of the scales are carried to their end by the next coordinator
		}
		down := cluster.Publish("demo/web", "scale", `{"scale":3,"busy":"supersede"}`)
		for _, s := range []uint64{up, down} {
			cluster.Outcome(s)
			commands = append(commands, s)
		}
	}
	cluster.Command("demo/web", "scale", `{"scale":50}`)
	h := readHistory(t, cluster)
	h.checkCommands(t, commands)
	checkActual(t, cluster, h.cluster)
	cluster.CheckReplay()
}

// killAfter scales to 50, and kills the leader once it has seen that many events or the command has ended.
func killAfter(t testing.TB, cluster *rookerytest.Cluster, leader *process, count int) uint64 {
	t.Helper()
	seen, err := cluster.Bus().Subscribe(events.EventRoot + ".service.>")
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Stop()
	sequence := cluster.Publish("demo/web", "scale", `{"scale":50,"busy":"supersede"}`)
	awaitEvents(t, leader, seen, sequence, count)
	leader.kill()
	return sequence
}

// awaitEvents waits until that many events have been seen, or the command has succeeded.
func awaitEvents(t testing.TB, leader *process, seen bus.Subscription, sequence uint64, count int) {
	t.Helper()
	for range count {
		select {
		case m := <-seen.Messages():
			data, a, err := events.Decode(m)
			if err != nil {
				t.Fatal(err)
			}
			if _, ended := data.(events.CommandSucceeded); ended && a.Cause.Correlation == sequence {
				count = 0
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no event within 30 seconds; the coordinator says:\n%s", leader.output)
		}
		if count == 0 {
			return
		}
	}
}

func scaleBody(n int) string { return fmt.Sprintf(`{"scale":%d,"busy":"supersede"}`, n) }
