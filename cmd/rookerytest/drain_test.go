package rookerytest_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections/views"
)

// TestDrainOnPodmanHosts drains a host that runs the only instance of a service, while a client sends requests without a pause: no request
// fails. Then it cancels the drain, and forgets a host whose node is gone. The slots of that host move elsewhere, and the node stops what
// it still runs when it comes back.
func TestDrainOnPodmanHosts(t *testing.T) {
	t.Parallel()
	r := startRegion(t, "attic-1", "barn-1")
	r.Ensure("demo/one", served(1, `"update":{"min_healthy":"3s"}`, `"health":{"http":{"port":"http","path":"/"},"interval":"1s"}`))
	before := r.running()["demo/one/0"]
	asks := r.steady("demo/one/0")
	if outcome := r.Outcome(r.command(before.host.name, "drain", `{"deadline":"2m"}`)); outcome.Outcome != "succeeded" {
		t.Fatalf("the drain ended as %+v", outcome)
	}
	asked, failed := asks()
	if failed != "" || asked == 0 {
		t.Errorf("of %d requests one failed: %s", asked, failed)
	}
	t.Logf("%d requests while %s was drained", asked, before.host.name)
	after := r.running()["demo/one/0"]
	if after.host == before.host || len(before.host.containers()) > 0 {
		t.Errorf("the instance was on %s, which was drained, and is on %s", before.host.name, after.host.name)
	}
	if outcome := r.Outcome(r.command(before.host.name, "resume", `{}`)); outcome.Outcome != "succeeded" {
		t.Errorf("the drain was not taken back: %+v", outcome)
	}
	r.gone(after.host)
	r.CheckReplay()
}

// gone stops the node of the host that has the only instance, forgets that node, and starts it again.
func (r *region) gone(h *host) {
	r.t.Helper()
	if outcome := r.Outcome(r.command(h.name, "forget", `{}`)); outcome.Outcome != "rejected" || outcome.Rejection.Code != events.CodeHeard {
		r.t.Errorf("a node that is heard was forgotten: %+v", outcome)
	}
	silent := r.listen("node." + h.name + ".silent")
	h.node.kill()
	silent()
	if outcome := r.Outcome(r.command(h.name, "forget", `{}`)); outcome.Outcome != "succeeded" {
		r.t.Fatalf("the node was not forgotten: %+v", outcome)
	}
	r.Until("the slot is elsewhere", func() bool {
		i := r.instances()["demo/one/0"]
		return i.Status == "online" && i.Node != h.name
	})
	joined := r.listen("node." + h.name + ".joined")
	h.startNode(r.URL, regionHeartbeat)
	if said := joined(); !strings.Contains(said, `"epoch":2`) {
		r.t.Errorf("the node that was forgotten is back as %s", said)
	}
	r.Until("what the node still ran is stopped", func() bool { return len(h.containers()) == 0 })
}

// command publishes a command to a node, and returns its sequence.
func (r *region) command(node, verb, body string) uint64 {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	sequence, err := r.Bus().Publish(ctx, events.Message{Subject: events.CommandRoot + ".node." + node + "." + verb, Body: []byte(body)})
	if err != nil {
		r.t.Fatal(err)
	}
	return sequence
}

// steady sends requests to a slot without a pause, at the address that the view shows. The function that it returns stops the requests. It
// returns how many there were, and the first error.
func (r *region) steady(slot string) func() (asked int, failed string) {
	ctx, cancel := context.WithCancel(r.t.Context())
	var done sync.WaitGroup
	asked, failed := 0, ""
	done.Go(func() {
		for ctx.Err() == nil {
			if _, err := r.visit(serves(r.instances()[slot])); err != nil && failed == "" {
				failed = err.Error()
			}
			asked++
		}
	})
	return func() (int, string) {
		cancel()
		done.Wait()
		return asked, failed
	}
}

// serves is the instance that clients use: the successor as soon as it serves, and until then the predecessor.
func serves(i views.Instance) views.Instance {
	if i.Next != nil && i.Next.Status == "online" {
		return *i.Next
	}
	return i
}
