package rookerytest_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/deploy/examples/shardkv/ledger"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// shardKV is the example of a stateful service, as its README has it.
const shardKV = `{"image":%q,"scale":%d,"stop_grace":"3s","ports":[{"name":"http","port":8080}],` +
	`"health":{"http":{"port":"http","path":"/health"},"interval":"2s","retries":5},"update":{"min_healthy":"1s","healthy_deadline":"2m"},` +
	`"topology":{},"hooks":{"release":{"http":{"port":"http","path":"/hooks/release"}},"acquire":{"http":{"port":"http","path":"/hooks/acquire"}}}}`

// TestShardsMoveWithoutLoss rescales the example of a stateful service from 3 to 7 and to 2, on three hosts with a Podman each and under a
// steady load. It kills the coordinator in the middle of both changes. By the ledger of its clients, no key is lost and no key is served by
// two slots.
func TestShardsMoveWithoutLoss(t *testing.T) {
	t.Parallel()
	r := startRegion(t, "attic-1", "barn-1", "cellar-1")
	var uris []string
	for _, h := range r.hosts {
		uris = append(uris, h.uri)
	}
	podmantest.LoadShardKV(t, uris...)
	r.Ensure("demo/kv", fmt.Sprintf(shardKV, podmantest.ShardKVReference, 3))

	random := seed(t)
	load := ledger.New(ledger.Config{Addresses: r.shards, Keys: 64, Workers: 6, Seed: random.Uint64()})
	ctx, stop := context.WithCancel(t.Context())
	var report ledger.Report
	var ran error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		report, ran = load.Run(ctx)
	}()
	defer func() { stop(); <-ended }()
	const between = 300
	await := func(version uint64) {
		if err := load.Await(t.Context(), between, version); err != nil {
			t.Fatal(err)
		}
	}
	await(1)
	for n, scale := range []int{7, 2} {
		version := uint64(n) + 2
		rescaled := r.listen("service.demo.kv.operation.ended")
		r.killedAs(random.IntN(4*scale), r.Publish("demo/kv", "scale", fmt.Sprintf(`{"scale":%d}`, scale)))
		if said := rescaled(); !strings.Contains(said, `"outcome":"done"`) {
			t.Errorf("the rescale to %d ended as %s", scale, said)
		}
		await(version)
	}
	stop()
	<-ended
	if err := ran; err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	tally.lost.Add(int64(report.Lost))
	tally.doubles.Add(int64(report.DoubleOwners))
	checkPhases(t, r.Cluster)
	if err := report.Kept(); err != nil {
		t.Error(err)
	}
	if running := r.running(); len(running) != 2 {
		t.Errorf("after the last rescale there are %d containers, want 2", len(running))
	}
	r.CheckReplay()
}

// killedAs kills the coordinator after so many events and starts another, which brings the command to its end.
func (r *region) killedAs(after int, command uint64) {
	r.t.Helper()
	seen, err := r.Bus().Subscribe(events.EventRoot + ".service.demo.kv.>")
	if err != nil {
		r.t.Fatal(err)
	}
	awaitEvents(r.t, r.coordinator, seen, command, after)
	seen.Stop()
	r.coordinator.kill()
	tally.kills.Add(1)
	r.startCoordinator()
	if outcome := r.Outcome(command); outcome.Outcome != "succeeded" {
		r.t.Errorf("with the coordinator killed after %d events the rescale ended as %+v", after, outcome)
	}
}

// shards returns where the instances of the service answer.
func (r *region) shards() []string {
	var all []string
	for _, i := range r.instances() {
		if i.Status == "online" && len(i.Ports) > 0 {
			all = append(all, net.JoinHostPort(i.Address, strconv.Itoa(int(i.Ports[0].HostPort))))
		}
	}
	return all
}
