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
	webSpec = `{"image":"localhost/%s:1","scale":3,"update":{"min_healthy":"1s",%s}}`
	kvSpec  = `{"image":"localhost/%s:1","scale":3,"topology":{},"hooks":{"release":{"exec":["%s"]},"acquire":{"exec":["b"]},"snapshot":{"exec":["%s"]},` +
		`"before_stop":{"exec":["d"]}},"volumes":[{"name":"data","path":"/data","state":true}],"update":{"min_healthy":"1s"}}`
	// tape selects a label that no node has: the update fails and is rolled back.
	tape = `"parallelism":2,"healthy_deadline":"15s","on_failure":"rollback"},"node_selector":{"disk":"tape"`
	pair = `{"services":{"left":{"image":"localhost/%[1]s:1","update":{"min_healthy":"1s"}},` +
		`"right":{"image":"localhost/%[1]s:1","scale":2,"after":["left"],"update":{"min_healthy":"1s",%[2]s}}}}`
)

// said is one command.
type said struct{ subject, body string }

func web(image, way string) said {
	return said{".service.demo.web.ensure", fmt.Sprintf(webSpec, image, way)}
}

func kv(image, release, snapshot string) said {
	return said{".service.demo.kv.ensure", fmt.Sprintf(kvSpec, image, release, snapshot)}
}

func to(service, verb, body string) said {
	return said{".service.demo." + service + "." + verb, body}
}

func both(image, way string) said {
	return said{".group.demo.pair.ensure", fmt.Sprintf(pair, image, way)}
}

// operations lists the kinds of operations, and ways in which they fail. Each entry has the commands in order, and the outcome of the last
// one. The test disturbs the last one.
var operations = []struct {
	name    string
	said    []said
	outcome string
}{
	{"create", []said{web("a", `"order":"start-first"`)}, "succeeded"},
	{"update with the next first", []said{web("a", rolling), web("b", `"order":"start-first","parallelism":2`)}, "succeeded"},
	{"update with the next last", []said{web("a", rolling), web("b", `"order":"stop-first","parallelism":2`)}, "succeeded"},
	{"update of all at once", []said{web("a", rolling), web("b", `"strategy":"recreate"`)}, "succeeded"},
	{"update behind a barrier", []said{web("a", rolling), web("b", `"strategy":"barrier","monitor":"2s"`)}, "succeeded"},
	{"update with a canary", []said{web("a", rolling), web("b", `"canaries":1,"promote":"auto","monitor":"2s"`)}, "succeeded"},
	{"update that goes back", []said{web("a", rolling), web("b", tape)}, "failed"},
	{"update with volumes and a topology", []said{kv("a", "a", "c"), kv("b", "a", "c")}, "succeeded"},
	{"restart", []said{web("a", rolling), to("web", "restart", `{}`)}, "succeeded"},
	{"rollback", []said{web("a", rolling), web("b", rolling), to("web", "rollback", `{}`)}, "succeeded"},
	{"rescale up", []said{kv("a", "a", "c"), to("kv", "scale", `{"scale":5}`)}, "succeeded"},
	{"rescale down", []said{kv("a", "a", "c"), to("kv", "scale", `{"scale":1}`)}, "succeeded"},
	{"rescale that is aborted", []said{kv("a", hangs, "c"), to("kv", "scale", `{"scale":5}`)}, "failed"},
	{"snapshot", []said{kv("a", "a", "c"), to("kv", "snapshot", `{}`)}, "succeeded"},
	{"snapshot that fails", []said{kv("a", "a", hangs), to("kv", "snapshot", `{}`)}, "failed"},
	{"suspend", []said{kv("a", "a", "c"), to("kv", "suspend", `{}`)}, "succeeded"},
	{"suspend that fails", []said{kv("a", "a", hangs), to("kv", "suspend", `{}`)}, "failed"},
	{"resume", []said{kv("a", "a", "c"), to("kv", "suspend", `{}`), to("kv", "resume", `{}`)}, "succeeded"},
	{"resume from a snapshot", []said{
		kv("a", "a", "c"), to("kv", "snapshot", `{}`), to("kv", "suspend", `{}`), to("kv", "resume", `{"snapshot":1}`),
	}, "succeeded"},
	{"drop", []said{kv("a", "a", "c"), to("kv", "drop", `{}`)}, "succeeded"},
	{"group", []said{both("a", rolling), both("b", rolling)}, "succeeded"},
	{"group that goes back", []said{both("a", rolling), both("b", tape)}, "failed"},
}

const rolling = `"parallelism":1`

// step says at which write to the log or the orders the test kills a coordinator: after passes earlier writes, before the server stores
// this one or after.
type step struct {
	point  Point
	before bool
	passes int
}

// came is the result of an operation: the outcome of its command, and the state of the services.
type came struct {
	outcome  string
	services map[events.ServiceID]state
}

type state struct {
	Scale    uint32
	Revision uint64
	Topology events.Topology
	Snapshot uint64
	Slots    []string
}

// TestTheLeaderKilledAtEachStep kills the leader at each of its writes in an operation of each kind, before the server stores the write and
// after. At the end, the result of the operation equals the result of a run without kills.
func TestTheLeaderKilledAtEachStep(t *testing.T) {
	t.Parallel()
	every := 1
	if testing.Short() || racing {
		every = 19
	}
	for _, o := range sampled(operations) {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			p := planOf(o.said)
			want, _ := disturbed(t, p, step{})
			if want.outcome != o.outcome {
				t.Fatalf("the command without a kill: %s, want %s", want.outcome, o.outcome)
			}
			kills := 0
			for _, s := range []step{{AppendLog, true, 0}, {AppendLog, false, 0}, {AppendOrders, true, 0}, {AppendOrders, false, 0}} {
				for ; ; s.passes += every {
					got, killed := disturbed(t, p, s)
					if !killed {
						break
					}
					kills++
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("killed before %t write %d at %s: got\n%+v, want, as without a kill,\n%+v", s.before, s.passes, s.point, got, want)
					}
				}
			}
			t.Logf("%d kills", kills)
			if kills == 0 {
				t.Error("the test killed no leader: it proves nothing")
			}
		})
	}
}

// pause is the time between two commands of a plan: each has ended long before the next.
const pause = 90 * time.Second

// planOf returns a plan with these commands and no fault.
func planOf(all []said) Plan {
	p := Plan{Seed: 1, Coordinators: 2, Nodes: 3, Ports: 20, Heartbeat: 5 * time.Second}
	for _, one := range all {
		p.Lasts += pause
		p.Actions = append(p.Actions, Action{At: p.Lasts, Kind: Command, Subject: events.CommandRoot + one.subject, Body: one.body})
	}
	p.Lasts += 2 * pause
	return p
}

// disturbed runs the plan and kills the leader at the step of its last command. A step without a point kills no leader. It returns the
// result, and whether the leader was killed.
func disturbed(t *testing.T, p Plan, s step) (c came, killed bool) {
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
		c = w.cameTo(t)
	})
	return c, killed
}

// trapLeader kills the leader at the step, and starts it again after three seconds. It does not kill the next leader.
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

// cameTo returns the state of the services and the outcome of the last command from the log at the end of the run.
func (w *World) cameTo(t *testing.T) came {
	c, fold := came{outcome: "has no end", services: map[events.ServiceID]state{}}, projections.NewFold()
	for _, m := range w.server.Backup(bus.Log).Messages() {
		records, err := fold.Take(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			switch r.Data.(type) {
			case events.CommandAccepted, events.CommandRejected, events.CommandSucceeded, events.CommandFailed, events.CommandSuperseded:
				c.outcome = r.Data.Kind().Name
			}
		}
	}
	for id, s := range fold.Cluster.Services {
		now := state{Scale: s.Scale, Revision: s.Revision, Snapshot: s.Snapshots.Version, Slots: slotsOf(s)}
		if s.Topology != nil {
			now.Topology = *s.Topology
		}
		c.services[id] = now
	}
	return c
}

func slotsOf(s *projections.Service) []string {
	var slots []string
	for i := range s.Instances() {
		slots = append(slots, fmt.Sprintf("%s on %s: revision %d, %s", i.ID, i.Node, i.Revision, i.Seen.Phase))
	}
	return slots
}
