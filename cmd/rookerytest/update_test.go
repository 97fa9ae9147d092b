package rookerytest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// TestUpdatesOfPodmanHosts updates a service on hosts with a Podman each. A canary with an image that does not exist rolls back by itself
// and touches nothing else. A rolling update finishes although a node is killed in the middle of it. Every slot serves all the while.
func TestUpdatesOfPodmanHosts(t *testing.T) {
	t.Parallel()
	r := startRegion(t, "attic-1", "barn-1", "cellar-1")
	const scale = 4
	r.Ensure("demo/web", served(scale))
	before := r.running()
	victim := before["demo/web/3"].host

	bad := r.Publish("demo/web", "ensure",
		`{"image":"localhost/none:1","stop_grace":"1s","ports":[{"name":"http","port":8080}],"update":{"canaries":1,"min_healthy":"1s","healthy_deadline":"10s","on_failure":"rollback"}}`)
	if outcome := r.Outcome(bad); outcome.Outcome != "failed" || outcome.Reason != events.ReasonRolledBack || !strings.Contains(outcome.Message, "image-pull") {
		t.Errorf("an update to an image that does not exist ended as %+v", outcome)
	}
	r.Until("there is what was before, and nothing else", func() bool { return r.only(before) })

	entered := r.listen("service.demo.web.operation.entered")
	good := r.Publish("demo/web", "ensure", served(scale, `"env":{"SAY":"two"}`,
		`"update":{"min_healthy":"1s","healthy_deadline":"1m"}`))
	entered()
	ended := r.listen("service.demo.web.operation.ended")
	silent := r.listen("node." + victim.name + ".silent")
	victim.node.kill()
	silent()
	if said := ended(); !strings.Contains(said, `"outcome":"done"`) {
		t.Errorf("the update with a node killed ended as %s", said)
	}
	const heartbeat = 2 * time.Second
	victim.startNode(r.URL, heartbeat)
	if outcome := r.Outcome(good); outcome.Outcome != "succeeded" {
		t.Errorf("the update with a node killed ended as %+v", outcome)
	}
	for slot, c := range r.running() {
		if !strings.Contains(c.environment(), "SAY=two") {
			t.Errorf("%s still runs as it was before", slot)
		}
	}
	if least := leastServing(r.Cluster, "demo/web", scale); least < scale {
		t.Errorf("%d slots of %d served at a time", least, scale)
	}
	checkPhases(t, r.Cluster)
	r.CheckReplay()
}

// only reports whether the hosts have these containers and no others.
func (r *region) only(running map[string]shown) bool {
	r.t.Helper()
	known, all := map[string]bool{}, 0
	for _, c := range running {
		known[c.ID] = true
	}
	for _, h := range r.hosts {
		for _, c := range h.containers() {
			if !known[c.ID] {
				return false
			}
			all++
		}
	}
	return all == len(running)
}

// environment returns the variables of the container.
func (s *shown) environment() string {
	s.host.t.Helper()
	out, err := s.host.podman("inspect", "--format", "{{range .Config.Env}}{{println .}}{{end}}", s.ID)
	if err != nil {
		s.host.t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// leastServing returns how many slots of the service have served at the least since as many did for the first time, as the
// log has it.
func leastServing(cluster *rookerytest.Cluster, service string, scale int) int {
	online, least, whole := map[events.InstanceID]bool{}, scale, false
	cluster.Replay(func(records []events.Record) {
		for _, r := range records {
			id, _ := r.Scope.Service()
			d, seen := r.Data.(events.Sighting)
			if !seen || id.String() != service {
				continue
			}
			s := d.Seen()
			online[events.InstanceID{Service: id, Ordinal: s.Ordinal, Generation: s.Generation}] = s.Phase == events.PhaseOnline
		}
		slots := map[uint32]bool{}
		for id, serves := range online {
			if serves {
				slots[id.Ordinal] = true
			}
		}
		whole = whole || len(slots) == scale
		if whole {
			least = min(least, len(slots))
		}
	})
	return least
}

// TestCanariesWaitForPeople promotes the canaries of an update with the command line, on the real Podman.
func TestCanariesWaitForPeople(t *testing.T) {
	t.Parallel()
	r := startReal(t)
	r.Ensure("demo/web", fmt.Sprintf(`{"image":%q,"scale":3,"stop_grace":"1s"}`, podmantest.WebReference))
	entered, err := r.Conn.SubscribeSync(events.EventRoot + ".service.demo.web.operation.entered")
	if err != nil {
		t.Fatal(err)
	}
	if out, code := rookery(t, "promote", "demo/web", "--server", r.URL); code != 3 || !strings.Contains(out, "no canary of service demo/web waits") {
		t.Errorf("promote without canaries: exit %d: %s", code, out)
	}
	updated := r.Publish("demo/web", "ensure", fmt.Sprintf(
		`{"image":%q,"stop_grace":"1s","env":{"SAY":"two"},"update":{"canaries":1,"parallelism":2,"min_healthy":"1s"}}`, podmantest.WebReference))
	for {
		m, err := entered.NextMsg(time.Minute)
		if err != nil {
			t.Fatalf("the update does not come to wait for a promotion: %v", err)
		}
		if strings.Contains(string(m.Data), `"phase":"promote"`) {
			break
		}
	}
	if got := strings.Join(r.generations(), " "); got != "0.2 1.1 2.1" {
		t.Errorf("while the canary waits there run %s", got)
	}
	r.Until("ps says what is waited for", func() bool {
		out, code := rookery(t, "ps", "demo/web", "--server", r.URL)
		return code == 0 && strings.Contains(out, "demo/web: update to revision 2, wave 1 of 2, slots 0, phase promote since") &&
			strings.Contains(out, "waits for rookery promote; slots 1-2 come later")
	})
	if out, code := rookery(t, "promote", "demo/web", "--server", r.URL); code != 0 {
		t.Errorf("promote: exit %d: %s", code, out)
	}
	if outcome := r.Outcome(updated); outcome.Outcome != "succeeded" {
		t.Errorf("the update ended as %+v", outcome)
	}
	if got := strings.Join(r.generations(), " "); got != "0.2 1.2 2.2" {
		t.Errorf("after the update there run %s", got)
	}
	checkPhases(t, r.Cluster)
	r.CheckReplay()
}
