package rookerytest_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node/podman/podmantest"
	"github.com/rookery-project/rookery/projections/views"
)

// shown returns the view of the node.
func (r *realNode) shown() views.Node {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	bucket, err := r.Bus().Bucket(ctx, bus.BucketNodes)
	if err != nil {
		r.t.Fatal(err)
	}
	entry, err := bucket.Get(ctx, r.owner.Node)
	if err != nil {
		r.t.Fatal(err)
	}
	var shown views.Node
	if err := json.Unmarshal(entry.Value, &shown); err != nil {
		r.t.Fatal(err)
	}
	return shown
}

// untilState waits until the view shows the node in this state, and returns the view.
func (r *realNode) untilState(want string) views.Node {
	r.t.Helper()
	var shown views.Node
	r.Until("the node is "+want, func() bool {
		shown = r.shown()
		return string(shown.State) == want
	})
	return shown
}

// TestDegradedPodman makes the service of the real Podman hang, and then kills it and starts it again. The node is degraded and not silent:
// its instances run on and serve, and it gets no new ones. Once Podman answers again, the node soon carries out the orders that came
// meanwhile.
func TestDegradedPodman(t *testing.T) {
	t.Parallel()
	r := startReal(t, "--answer-timeout", "5s")
	const service = "demo/web"
	r.Ensure(service, `{"image":"`+podmantest.WebReference+`","scale":2,"stop_grace":"2s","ports":[{"name":"http","port":8080}],
		"health":{"http":{"port":"http","path":"/"},"interval":"1s"}}`)
	for _, fault := range []struct {
		name, says string
		inject     func()
		mend       func()
		scale      string
	}{
		{
			"hangs", "does not answer within 5s", func() { podmantest.HangService(t, r.uri) },
			func() { podmantest.ContinueService(t, r.uri) }, `{"scale":3}`,
		},
		{
			"is gone", "connection refused", func() { podmantest.KillService(t, r.uri) },
			func() { podmantest.RestartService(t, r.uri) }, `{"scale":4}`,
		},
	} {
		before := r.running()
		fault.inject()
		began := time.Now()
		shown := r.untilState("degraded")
		t.Logf("a Podman that %s was told after %s: %s", fault.name, time.Since(began).Round(100*time.Millisecond), shown.Degraded)
		if !strings.Contains(shown.Degraded, fault.says) {
			t.Errorf("of a Podman that %s is shown %q, want %q", fault.name, shown.Degraded, fault.says)
		}
		if out, _ := rookery(t, "nodes", "--server", r.URL); !strings.Contains(out, "degraded") || !strings.Contains(out, "edge is degraded: ") {
			t.Errorf("rookery nodes prints\n%s", out)
		}
		pending, err := r.Bus().Subscribe(events.EventRoot + ".service.demo.web.instance.pending")
		if err != nil {
			t.Fatal(err)
		}
		sequence := r.Publish(service, "scale", fault.scale)
		if m := <-pending.Messages(); !strings.Contains(string(m.Body), `"removed":{"degraded":1}`) {
			t.Errorf("the next instance is pending for %s", m.Body)
		}
		pending.Stop()
		for id, c := range before {
			if got := r.visit(c.Ports[0].HostPort); !strings.HasPrefix(got, service) {
				t.Errorf("%s answers %q", id, got)
			}
		}
		fault.mend()
		began = time.Now()
		if outcome := r.Outcome(sequence); outcome.Outcome != "succeeded" {
			t.Errorf("what was asked for meanwhile ended as %+v", outcome)
		}
		t.Logf("all orders were carried out %s after the repair", time.Since(began).Round(100*time.Millisecond))
		r.untilState("ready")
		after := r.running()
		for id, c := range before {
			if after[id].Handle != c.Handle {
				t.Errorf("%s was container %.12s and is %.12s", id, c.Handle, after[id].Handle)
			}
		}
		untilClean(t, r.Cluster, r.audited())
	}
	r.CheckReplay()
}
