package world

import (
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

const (
	kvSpec = `{"image":"localhost/a:1","scale":3,"topology":{},"hooks":{"release":{"exec":["a"]},"acquire":{"exec":["b"]},"snapshot":{"exec":["c"]},` +
		`"before_stop":{"exec":["d"]}},"volumes":[{"name":"data","path":"/data","state":true}],"update":{"min_healthy":"1s"}}`
	webSpec = `{"image":"localhost/%s:1","scale":3,"update":{"min_healthy":"1s",%s}}`
)

func webOf(image, way string) string { return fmt.Sprintf(webSpec, image, way) }

// operations are the kinds of operations: what is asked before, one thing after the other, and then the one that is disturbed.
var operations = []struct {
	name    string
	service string
	before  []Action
	verb    string
	body    string
}{
	{"create", "web", nil, "ensure", webOf("a", `"order":"start-first"`)},
	{"update with the next first", "web", ensured("web", webOf("a", `"parallelism":1`)), "ensure", webOf("b", `"order":"start-first","parallelism":2`)},
	{"update with the next last", "web", ensured("web", webOf("a", `"parallelism":1`)), "ensure", webOf("b", `"order":"stop-first","parallelism":2`)},
	{"update of all at once", "web", ensured("web", webOf("a", `"parallelism":1`)), "ensure", webOf("b", `"strategy":"recreate"`)},
	{"update behind a barrier", "web", ensured("web", webOf("a", `"parallelism":1`)), "ensure", webOf("b", `"strategy":"barrier","monitor":"2s"`)},
	{"update with a canary", "web", ensured("web", webOf("a", `"parallelism":1`)), "ensure", webOf("b", `"canaries":1,"promote":"auto","monitor":"2s"`)},
	{"update with volumes and a topology", "kv", ensured("kv", kvSpec), "ensure", `{"image":"localhost/b:1",` + kvSpec[len(`{"image":"localhost/a:1",`):]},
	{"restart", "web", ensured("web", webOf("a", `"parallelism":1`)), "restart", `{}`},
	{"rollback", "web", append(ensured("web", webOf("a", `"parallelism":1`)), ensured("web", webOf("b", `"parallelism":1`))...), "rollback", `{}`},
	{"rescale up", "kv", ensured("kv", kvSpec), "scale", `{"scale":5}`},
	{"rescale down", "kv", ensured("kv", kvSpec), "scale", `{"scale":1}`},
	{"snapshot", "kv", ensured("kv", kvSpec), "snapshot", `{}`},
	{"drop", "kv", ensured("kv", kvSpec), "drop", `{}`},
}

func ensured(service, spec string) []Action {
	return []Action{{Kind: Command, Subject: events.CommandRoot + ".service.demo." + service + ".ensure", Body: spec}}
}

// step is where a coordinator is killed: as it writes to the log or the orders for so many times, before it is stored or after.
type step struct {
	point  Point
	before bool
	passes int
}

// ended is what an operation has come to.
type ended struct {
	Fate     string
	Scale    uint32
	Revision uint64
	Topology events.Topology
	Snapshot uint64
	Slots    []string
}

// TestTheLeaderKilledAtEachStep kills the coordinator that leads at each of its writes in an operation of each kind, before it is
// stored and after: what has come of it by the end is what comes of it when nothing happens.
func TestTheLeaderKilledAtEachStep(t *testing.T) {
	every := 1
	if testing.Short() {
		every = 19
	}
	for _, o := range operations {
		t.Run(o.name, func(t *testing.T) {
			p := planOf(o.service, o.verb, o.body, o.before)
			want, _ := disturbed(t, p, o.service, step{})
			if want.Fate != "succeeded" {
				t.Fatalf("it %s, when nothing happens", want.Fate)
			}
			kills := 0
			for _, s := range []step{{AppendLog, true, 0}, {AppendLog, false, 0}, {AppendOrders, true, 0}, {AppendOrders, false, 0}} {
				for ; ; s.passes += every {
					got, killed := disturbed(t, p, o.service, s)
					if !killed {
						break
					}
					kills++
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("killed before %t write %d at %s: it came to\n%+v, and when nothing happens to\n%+v", s.before, s.passes, s.point, got, want)
					}
				}
			}
			t.Logf("%d kills", kills)
			if kills == 0 {
				t.Error("nobody was killed")
			}
		})
	}
}

// pause is the time between two commands of a plan: each has ended long before the next.
const pause = time.Minute

// planOf is a plan in which all is asked, and nothing goes wrong.
func planOf(service, verb, body string, before []Action) Plan {
	p := Plan{Seed: 1, Coordinators: 2, Nodes: 3, Ports: 20, Heartbeat: 5 * time.Second}
	before = append(before[:len(before):len(before)], Action{Kind: Command, Subject: events.CommandRoot + ".service.demo." + service + "." + verb, Body: body})
	for _, a := range before {
		p.Lasts += pause
		a.At = p.Lasts
		p.Actions = append(p.Actions, a)
	}
	p.Lasts += 2 * pause
	return p
}

// disturbed runs the plan and kills the leader at the step of its last command; at none where the step is of no point. It says what
// has come of the service, and whether the leader was killed.
func disturbed(t *testing.T, p Plan, service string, s step) (e ended, killed bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(p, nil)
		last := p.Actions[len(p.Actions)-1].At
		w.at(w.began.Add(last-time.Millisecond), func() bool {
			w.trapLeader(s, func() { killed = true })
			return false
		})
		w.at(w.began.Add(last+pause), func() bool {
			w.disarm()
			return false
		})
		w.live()
		for _, b := range w.result.Broken {
			t.Errorf("killed before %t write %d at %s: %v", s.before, s.passes, s.point, b)
		}
		e = w.cameTo(t, events.ServiceID{Namespace: "demo", Name: service})
	})
	return e, killed
}

// trapLeader has whoever leads be killed at the step, and begin again after some seconds. Whoever leads then is not.
func (w *World) trapLeader(s step, killed func()) {
	for _, p := range w.parts {
		if c := p.client; isCoordinator(p.name) {
			c.trap = &trap{point: s.point, before: s.before, passes: s.passes, spring: func() {
				killed()
				w.disarm()
				w.crash(p, c, Action{For: 3 * time.Second})
			}}
		}
	}
}

func (w *World) disarm() {
	for _, p := range w.parts {
		p.client.trap = nil
	}
}

// cameTo says what the log has of the service and of the last command by the end.
func (w *World) cameTo(t *testing.T, id events.ServiceID) ended {
	e, fold := ended{Fate: "has no end"}, projections.NewFold()
	for _, m := range w.server.Backup(bus.Log).Messages() {
		records, err := fold.Take(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			switch r.Data.(type) {
			case events.CommandAccepted, events.CommandRejected, events.CommandSucceeded, events.CommandFailed, events.CommandSuperseded:
				e.Fate = r.Data.Kind().Name
			}
		}
	}
	if s := fold.Cluster.Services[id]; s != nil {
		e.Scale, e.Revision, e.Snapshot, e.Slots = s.Scale, s.Revision, s.Snapshots.Version, slotsOf(s)
		if s.Topology != nil {
			e.Topology = *s.Topology
		}
	}
	return e
}

func slotsOf(s *projections.Service) []string {
	var slots []string
	for i := range s.Instances() {
		slots = append(slots, fmt.Sprintf("%s on %s: revision %d, %s", i.ID, i.Node, i.Revision, i.Seen.Phase))
	}
	return slots
}
