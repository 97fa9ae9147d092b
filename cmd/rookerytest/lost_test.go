package rookerytest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
)

// lostAfter is how long a node of this test is silent before it is lost: longer than its link takes to be of use again.
const lostAfter = 15 * time.Second

// TestLostNodesOfPodmanHosts cuts a host off until it is lost, and then reconnects it, on hosts with a network and a Podman each. Its
// replicas are replaced elsewhere, and a slot with a volume waits. Of two containers of a slot, the spec decides which one stays. With
// three of four hosts cut off nothing is replaced, and an event says so.
func TestLostNodesOfPodmanHosts(t *testing.T) {
	t.Parallel()
	r := startRegion(t, "attic-1", "barn-1", "barn-2", "cellar-1")
	ask(t, r.Cluster, "rookery.cmd.cluster.policy", fmt.Sprintf(`{"liveness":{"lost_after":%q}}`, lostAfter))
	const perHost = `"max_per_node":2`
	r.Ensure("demo/long", served(4, perHost))
	r.Ensure("demo/first", served(4, perHost, `"disconnect":{"reconcile":"keep-original"}`))
	r.Ensure("demo/later", served(4, perHost, `"disconnect":{"reconcile":"keep-replacement"}`))
	r.Ensure("demo/db", served(1, `"node_selector":{"host":"cellar-1"}`, `"volumes":[{"name":"data","path":"/data"}]`))
	whole := r.running()

	cellar := r.hosts[3]
	lost := r.listen("node.cellar-1.lost")
	cellar.cut()
	lost()
	r.Until("what was lost is replaced", func() bool { return r.serves("cellar-1", "demo/db/0") })
	db := r.instances()["demo/db/0"]
	if db.Status != "lost" || db.Message != "lost connection to cellar-1" || db.Node != "cellar-1" {
		t.Errorf("demo/db/0 is shown as %+v", db)
	}
	r.checkReached("cellar-1")
	for _, c := range cellar.containers() { // no order has told it to stop
		if was := whole[c.slot()]; c.ID != was.ID || c.State != "running" {
			t.Errorf("%s is %.12s on the lost host and %s, and was %.12s", c.slot(), c.ID, c.State, was.ID)
		}
	}

	listed := r.listen("node.cellar-1.listed")
	cellar.mend()
	listed()
	r.Until("one container of each slot is left", func() bool { return r.serves("") && r.onceEach(len(whole)) })
	again := r.running()
	for slot, was := range whole {
		if was.host != cellar {
			continue
		}
		if stays := again[slot].ID == was.ID; stays == strings.HasPrefix(slot, "demo/later/") {
			t.Errorf("%s was %.12s on %s, and is %.12s on %s", slot, was.ID, was.host.name, again[slot].ID, again[slot].host.name)
		}
	}
	r.checkParted(again)
	r.CheckReplay()
}

// checkParted cuts three hosts of four off for longer than it takes to lose one, and fails the test unless nothing is lost.
func (r *region) checkParted(running map[string]shown) {
	r.t.Helper()
	before := r.losses()
	paused, resumed := r.listen("cluster.evictions-paused"), r.listen("cluster.evictions-resumed")
	for _, h := range r.hosts[:3] {
		h.cut()
	}
	if said, want := paused(), `{"silent":3,"nodes":4}`; said != want {
		r.t.Errorf("evictions are paused with %s, want %s", said, want)
	}
	over := time.Now().Add(2 * lostAfter) // nothing is to happen meanwhile, so there is nothing else to wait for
	r.Until("nodes would be lost by now", func() bool { return time.Now().After(over) })
	checkUntouched(r.t, running, r.running())
	for _, h := range r.hosts[:3] {
		h.mend()
	}
	resumed()
	r.Until("all are heard again", func() bool { return r.serves("") })
	checkUntouched(r.t, running, r.running())
	if after := r.losses(); after != before {
		r.t.Errorf("%d instances and nodes were lost while most were silent", after-before)
	}
}

// serves reports whether every instance is shown to serve on a host that is not the lost one, but for those that wait for theirs.
func (r *region) serves(lost string, wait ...string) bool {
	all := r.instances()
	for _, slot := range wait {
		delete(all, slot)
	}
	for _, i := range all {
		if i.Status != "online" || i.Node == lost {
			return false
		}
	}
	return true
}

// onceEach reports whether the hosts have so many containers, and as many slots.
func (r *region) onceEach(want int) bool {
	slots, count := map[string]bool{}, 0
	for _, h := range r.hosts {
		for _, c := range h.containers() {
			slots[c.slot()] = true
			count++
		}
	}
	return count == want && len(slots) == want
}

// losses counts the nodes and instances that the log says were lost.
func (r *region) losses() (count int) {
	r.t.Helper()
	r.Replay(func(records []events.Record) {
		for _, e := range records {
			switch e.Data.(type) {
			case events.NodeLost, events.InstanceLost:
				count++
			}
		}
	})
	return count
}
