package rookerytest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node/podman/podmantest"
	"github.com/rookery-project/rookery/projections"
)

// TestZonesOfPodmanHosts loses a zone and gets it back, on hosts with a network and a Podman each. Services that are replicas of each other
// never share a host. The reachable zones stay even. An instance that no host may run waits and says why. No running instance is touched.
func TestZonesOfPodmanHosts(t *testing.T) {
	t.Parallel()
	r := startRegion(t, "attic-1", "barn-1", "barn-2", "cellar-1")
	const every, a, b, web = "attic barn cellar", "demo/heron-a", "demo/heron-b", "demo/web"
	ask(t, r.Cluster, "rookery.cmd.cluster.policy", `{"preset":"materialize","spread":{"ignore_scaled":false},"liveness":{"lost_after":"24h"}}`)
	r.Ensure(web, served(4))
	r.Ensure(a, replica("a"))
	r.Ensure(b, replica("b"))
	whole := r.running()
	checkApart(t, whole, a, b)
	checkSkew(t, whole, every, web)
	checkSkew(t, whole, every, a, b)
	r.checkShown(whole)
	r.checkReached("")

	cellar := r.hosts[3]
	silent := r.listen("node.cellar-1.silent")
	cellar.cut()
	silent()
	r.checkReached("cellar-1")
	// The other replica has the attic and one host of the barn, and the barn is ahead of the attic already.
	scaled := r.waits(b+"/2", "scale", `{"scale":3}`, `{"silent":1,"anti_affinity":2,"spread":1}`)
	bound := r.waits("demo/bound/0", "ensure", served(1, `"node_selector":{"host":"cellar-1"}`), `{"silent":1,"node_selector":3}`)
	// A silent zone does not hold the others back: they are even among themselves.
	r.Command(web, "scale", `{"scale":6}`)
	during := r.running()
	checkUntouched(t, whole, during)
	checkSkew(t, during, "attic barn", web)
	r.checkPlaced(whole, during, "attic-1", "barn-1", "barn-2")

	returned := r.listen("node.cellar-1.returned")
	cellar.mend()
	returned()
	for _, sequence := range []uint64{scaled, bound} {
		if outcome := r.Outcome(sequence); outcome.Outcome != "succeeded" {
			t.Errorf("what waited ended as %+v", outcome)
		}
	}
	r.Command(web, "scale", `{"scale":7}`)
	again := r.running()
	checkUntouched(t, during, again)
	r.checkPlaced(during, again, "cellar-1")
	checkApart(t, again, a, b)
	checkSkew(t, again, every, web)
	checkSkew(t, again, every, a, b)
	r.checkShown(again)
	r.checkReached("")
	if d := explained(t, r.Cluster, b+"/2"); d.Node != "cellar-1" {
		t.Errorf("%s/2 is explained to be on %q", b, d.Node)
	}
	r.checkQuiet()
	untilClean(t, r.Cluster, r.audited()...)
	r.CheckReplay()
}

// served is the spec of a service that answers over HTTP, with more fields.
func served(scale int, fields ...string) string {
	return fmt.Sprintf(`{"image":%q,"scale":%d,"stop_grace":"1s","ports":[{"name":"http","port":8080}]%s}`,
		podmantest.WebReference, scale, strings.Join(append([]string{""}, fields...), ","))
}

// replica is the spec of one of the services that are each other's replicas: it shares no host with another, and all
// of them are spread over the zones together.
func replica(name string) string {
	const all = `{"label":"cluster","operator":"equal","values":["heron"]}`
	return served(2, `"labels":{"cluster":"heron","replica":"`+name+`"}`, `"spread":[`+all+`]`,
		`"anti_affinity":[`+all+`,{"label":"replica","operator":"not-equal","values":["`+name+`"]}]`)
}

// waits publishes a command by which the slot gets no host, because each of these filters removes so many hosts. The log, the view and
// `rookery explain` must say so. It returns the sequence of the command.
func (r *region) waits(slot, verb, body, removed string) uint64 {
	r.t.Helper()
	service := slot[:strings.LastIndexByte(slot, '/')]
	pending := r.listen("service." + strings.ReplaceAll(service, "/", ".") + ".instance.pending")
	sequence := r.Publish(service, verb, body)
	said := pending()
	if want := fmt.Sprintf(`"nodes":%d,"removed":%s`, len(r.hosts), removed); !strings.Contains(said, want) {
		r.t.Errorf("%s waits because of %s, want %s", slot, said, want)
	}
	var why events.InstancePending
	counts, want := map[string]int{}, map[string]int{}
	if err := errors.Join(json.Unmarshal([]byte(said), &why), json.Unmarshal([]byte(removed), &want)); err != nil {
		r.t.Fatal(err)
	}
	r.Until("the view says why "+slot+" waits", func() bool {
		i := r.instances()[slot]
		return i.Status == "pending" && i.Message == projections.Reasons(why)
	})
	d := explained(r.t, r.Cluster, slot)
	for _, n := range d.Nodes {
		counts[n.Removed]++
	}
	if d.Node != "" || !maps.Equal(counts, want) {
		r.t.Errorf("%s is explained by %+v, want %s", slot, d, removed)
	}
	return sequence
}

// checkSkew fails the test unless the services' instances together are in each of these zones, and in none more than
// one ahead of another.
func checkSkew(t *testing.T, running map[string]shown, zones string, services ...string) {
	t.Helper()
	counts := map[string]int{}
	for _, zone := range strings.Fields(zones) {
		counts[zone] = 0
	}
	for _, c := range running {
		if _, counted := counts[c.host.zone]; counted && slices.Contains(services, c.service()) {
			counts[c.host.zone]++
		}
	}
	of := slices.Collect(maps.Values(counts))
	if least, most := slices.Min(of), slices.Max(of); least == 0 || most-least > 1 {
		t.Errorf("%v are spread as %v", services, counts)
	}
}

// checkApart fails the test where both services have an instance on one host.
func checkApart(t *testing.T, running map[string]shown, one, other string) {
	t.Helper()
	on := map[string]map[string]bool{one: {}, other: {}}
	for _, c := range running {
		if hosts, asked := on[c.service()]; asked {
			hosts[c.host.name] = true
		}
	}
	for name := range on[one] {
		if on[other][name] {
			t.Errorf("%s and %s share %s", one, other, name)
		}
	}
}

// checkUntouched fails the test unless every container of before is the same process still.
func checkUntouched(t *testing.T, before, now map[string]shown) {
	t.Helper()
	for slot, was := range before {
		if is := now[slot]; is.ID != was.ID || is.PID != was.PID || is.StartedAt != was.StartedAt {
			t.Errorf("%s was %.12s with process %d on %s, and is %.12s with %d", slot, was.ID, was.PID, was.host.name, is.ID, is.PID)
		}
	}
}

// checkShown fails the test unless the view shows what runs.
func (r *region) checkShown(running map[string]shown) {
	r.t.Helper()
	r.Until("the view shows what runs", func() bool {
		all := r.instances()
		for slot, c := range running {
			if all[slot].Status != "online" || all[slot].Node != c.host.name {
				return false
			}
		}
		return len(all) == len(running)
	})
}

// checkReached fails the test unless every instance answers at the address in the view. The instances on the lost host must not answer.
func (r *region) checkReached(lost string) {
	r.t.Helper()
	for slot, i := range r.instances() {
		if i.Node == lost {
			if got, err := r.visit(i); err == nil {
				r.t.Errorf("%s answers %q from the lost host", slot, got)
			}
			continue
		}
		var got string
		r.Until(slot+" answers", func() (ok bool) {
			var err error
			got, err = r.visit(i)
			return err == nil
		})
		if want := fmt.Sprintf("%s/%s ordinal %d generation %d ", i.Namespace, i.Name, i.Ordinal, i.Generation); !strings.HasPrefix(got, want) {
			r.t.Errorf("%s answers %q, want %q", slot, got, want)
		}
	}
}

// checkPlaced fails the test unless what is new is on these hosts, and something is.
func (r *region) checkPlaced(before, now map[string]shown, hosts ...string) {
	r.t.Helper()
	if len(now) == len(before) {
		r.t.Error("nothing was placed")
	}
	for slot, c := range now {
		if _, old := before[slot]; !old && !slices.Contains(hosts, c.host.name) {
			r.t.Errorf("%s was placed on %s, want one of %v", slot, c.host.name, hosts)
		}
	}
}

// checkQuiet fails the test unless the log says that one node was silent and returned, and no instance ever went.
func (r *region) checkQuiet() {
	r.t.Helper()
	var heard []string
	r.Replay(func(records []events.Record) {
		for _, e := range records {
			switch e.Data.(type) {
			case events.NodeSilent, events.NodeReturned:
				name, _ := e.Scope.Node()
				heard = append(heard, name+" "+e.Data.Kind().Word())
			case events.InstanceRetired, events.InstanceOffline, events.InstanceStopped, events.InstanceRemoved:
				r.t.Errorf("the log has %s at %d", e.Data.Kind().Word(), e.Sequence)
			}
		}
	})
	if want := []string{"cellar-1 node.silent", "cellar-1 node.returned"}; !slices.Equal(heard, want) {
		r.t.Errorf("the log says %v, want %v", heard, want)
	}
}
