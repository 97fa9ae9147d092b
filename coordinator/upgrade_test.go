package coordinator_test

import (
	"testing"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// running returns the programs of a leader, of one other coordinator, and of a node.
func running(leader, other, node events.Level) coordinator.Running {
	works := func(most events.Level) events.Program { return events.Program{Levels: events.Levels{Most: most}} }
	return coordinator.Running{
		Leader: works(leader), Coordinators: map[string]events.Program{"leader": works(leader), "other": works(other)},
		Nodes: map[string]coordinator.Process{"n1": {Incarnation: "one", Program: works(node)}},
	}
}

// finish asks for the end of an upgrade, and returns the reason of a rejection, or "".
func (h *house) finish(with coordinator.Running) (why string) {
	h.input++
	m := events.Message{Subject: events.CommandRoot + ".cluster.finish-upgrade", Sequence: h.input, Body: []byte("{}"), Header: events.Header{}}
	h.round(func(turn *coordinator.Turn) {
		turn.Running = with
		turn.Command(events.ParseRequest(m))
		for _, r := range turn.Records {
			if d, rejected := r.Data.(events.CommandRejected); rejected {
				why = d.Reason
			}
		}
	})
	return why
}

func (h *house) takesIn(node, incarnation string, program events.Program) {
	h.statusOf(events.Status{Node: node, Program: program, Hello: &events.Hello{Incarnation: incarnation, NodeFacts: events.NodeFacts{
		Address: "10.0.0.1", EngineFacts: events.EngineFacts{Engine: "test"}, Capacity: events.Capacity{CPU: 16, Memory: 16 << 30},
		Ports: events.PortRange{First: 20_000, Last: 20_999},
	}}})
}

func TestAnUpgradeEndsOnceAllProgramsAreNew(t *testing.T) {
	const advice = "; upgrade what is older, and run `rookery forget` for nodes that are gone"
	for _, tt := range []struct {
		name string
		with coordinator.Running
		want string
	}{
		{"all are new", running(1, 1, 1), ""},
		{"all are old", running(0, 0, 0), ""},
		{"a node is newer", running(1, 1, 3), ""},
		{"the leader is older", running(1, 2, 3), "the cluster cannot reach level 2: coordinator leader works at levels 0-1" + advice},
		{"a coordinator is older", running(1, 0, 1), "the cluster cannot reach level 1: coordinator other works at levels 0-0" + advice},
		{"a node is older", running(2, 2, 1), "the cluster cannot reach level 2: node n1 works at levels 0-1" + advice},
		{"a node was not heard", coordinator.Running{Leader: running(1, 1, 1).Leader}, "the cluster cannot reach level 1: node n1 has sent no heartbeat to this leader" + advice},
		{"another process of a node was heard", coordinator.Running{
			Leader: running(1, 1, 1).Leader, Nodes: map[string]coordinator.Process{"n1": {Incarnation: "zero", Program: running(1, 1, 1).Leader}},
		}, "the cluster cannot reach level 1: node n1 has sent no heartbeat to this leader" + advice},
		{"the coordinators are not known", coordinator.Running{Leader: running(1, 1, 1).Leader, Unknown: "it is late"}, "the leader cannot find out which coordinators run: it is late; try again"},
	} {
		h := newHouse(t)
		h.takesIn("n1", "one", events.Program{})
		if why := h.finish(tt.with); why != tt.want {
			t.Errorf("%s: rejected with %q, want %q", tt.name, why, tt.want)
		}
		want := events.Level(0)
		if tt.want == "" {
			want = tt.with.Leader.Levels.Most
		}
		if h.cluster.Level != want {
			t.Errorf("%s: the cluster is at level %d, want %d", tt.name, h.cluster.Level, want)
		}
	}
}

func TestANodeOfAnOlderVersionGetsNoInstances(t *testing.T) {
	h := newHouse(t)
	older, newer := events.Program{Version: "v1"}, events.Program{Version: "v2", Levels: events.Levels{Most: 1}}
	h.takesIn("n1", "one", newer)
	if p := h.cluster.Nodes["n1"].Program; p != (events.Program{}) {
		t.Errorf("at level 0 the log has the program %+v", p)
	}
	h.finish(running(1, 1, 1))
	h.takesIn("n1", "two", older)
	if n := h.cluster.Nodes["n1"]; n.State() != projections.NodeDegraded || n.Program != older || n.Ready() {
		t.Errorf("the older node is %s: %+v", n.State(), n.Program)
	}
	h.input++
	ensure := events.Message{
		Subject: events.CommandRoot + ".service.demo.web.ensure", Sequence: h.input, Body: []byte(`{"image":"localhost/a:1"}`), Header: events.Header{},
	}
	h.round(func(turn *coordinator.Turn) { turn.Command(events.ParseRequest(ensure)) })
	h.settle()
	id := events.ServiceID{Namespace: "demo", Name: "web"}
	if why := h.cluster.WhyPending(h.cluster.Services[id]); why != "of 1 nodes 1 degraded" {
		t.Errorf("the instance is pending as %s", why)
	}
	h.takesIn("n1", "three", newer)
	h.settle()
	if n := h.cluster.Nodes["n1"]; n.State() != projections.NodeReady || n.Program != newer || n.Instances() != 1 {
		t.Errorf("the upgraded node is %s with %d instances: %+v", n.State(), n.Instances(), n.Program)
	}
}
