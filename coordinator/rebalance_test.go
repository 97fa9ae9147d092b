package coordinator_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
)

// crowded returns a house with two crowded nodes and four empty ones.
func crowded(t *testing.T) *house {
	h := newHouse(t)
	join := func(name string) {
		h.statusOf(events.Status{Node: name, Hello: &events.Hello{Incarnation: name, NodeFacts: events.NodeFacts{
			Address: "10.0.0.1", EngineFacts: events.EngineFacts{Engine: "test"}, Zone: "zone-" + name[len(name)-1:], Capacity: events.Capacity{CPU: 16, Memory: 16 << 30},
			Ports: events.PortRange{First: 20_000, Last: 20_999},
		}}})
	}
	ask := func(subject, body string) {
		h.input++
		m := events.Message{Subject: events.CommandRoot + "." + subject, Sequence: h.input, Body: []byte(body), Header: events.Header{}}
		h.round(func(turn *coordinator.Turn) { turn.Command(events.ParseRequest(m)) })
	}
	join("old-1")
	join("old-2")
	for i := range 4 {
		ask(fmt.Sprintf("service.demo.s%d.ensure", i), fmt.Sprintf(`{"image":"localhost/a:1","scale":%d,"resources":{"memory":"%dMiB"}}`, 3+i, 300*(i+1)))
	}
	h.settle()
	for _, name := range []string{"new-1", "new-2", "new-3", "new-4"} {
		join(name)
	}
	return h
}

// TestThePlanIsWhatIsDone compares a rebalancing with its plan, when nothing else happens.
func TestThePlanIsWhatIsDone(t *testing.T) {
	terms := events.RebalanceTerms{MaxMoves: 8, MinGain: 1}
	planned := crowded(t)
	plan := coordinator.PlanRebalance(planned.cluster, terms, planned.now)
	h := crowded(t)
	type place struct {
		service string
		ordinal uint32
		node    string
	}
	places := func(h *house) (all []place) {
		for _, s := range h.cluster.Services {
			for i := range s.Instances() {
				all = append(all, place{s.ID.String(), i.ID.Ordinal, i.Node})
			}
		}
		return all
	}
	want := places(h)
	for _, m := range plan {
		at := slices.Index(want, place{m.Service, m.Ordinal, m.From})
		if at < 0 {
			t.Fatalf("the plan moves %s/%d from %s, where it is not", m.Service, m.Ordinal, m.From)
		}
		want[at].node = m.To
	}
	m := events.Message{Subject: events.CommandRoot + ".cluster.rebalance", Sequence: h.input + 1, Body: []byte(`{"max_moves":8,"min_gain":1}`), Header: events.Header{}}
	h.round(func(turn *coordinator.Turn) { turn.Command(events.ParseRequest(m)) })
	h.settle()
	got := places(h)
	for _, p := range want {
		if !slices.Contains(got, p) {
			t.Errorf("%s/%d is not on %s, where the plan puts it", p.service, p.ordinal, p.node)
		}
	}
	if len(plan) < 4 || len(got) != len(want) || h.cluster.Rebalance != nil {
		t.Errorf("%d moves were planned, %d of %d instances exist, and the rebalancing is %+v", len(plan), len(got), len(want), h.cluster.Rebalance)
	}
	if again := coordinator.PlanRebalance(h.cluster, terms, h.now); len(again) > len(plan)/2 {
		t.Errorf("after %d moves there are %d more to make", len(plan), len(again))
	}
}
