package main

import (
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
)

// TestASequenceIsNotATime begins at a sequence by the flag for a time.
func TestASequenceIsNotATime(t *testing.T) {
	_, err := typed(t, "", "events", "--since", "5")
	if err == nil || !strings.Contains(err.Error(), "--since 5 is not a time") || !strings.Contains(err.Error(), "--from") {
		t.Errorf("it says %v", err)
	}
}

// TestEventsAreSelectedByTypeAndNode holds messages to selections.
func TestEventsAreSelectedByTypeAndNode(t *testing.T) {
	message := func(scope events.Scope, data events.Data) events.Message {
		m, err := events.Record{Event: events.Event{Scope: scope, Data: data}, Sequence: 1, Time: noon}.Message("log")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	web := events.ServiceScope(events.ServiceID{Namespace: "demo", Name: "web"})
	lost := message(web, events.InstanceLost{Node: "n1", Generation: 1})
	scaled := message(web, events.ServiceScaled{Scale: 2})
	silent := message(events.NodeScope("n1"), events.NodeSilent{})
	for _, tt := range []struct {
		name string
		s    eventSelection
		want [3]bool // lost, scaled, silent
	}{
		{"all", eventSelection{}, [3]bool{true, true, true}},
		{"of a thing", eventSelection{types: []string{"instance"}}, [3]bool{true, false, false}},
		{"of two types", eventSelection{types: []string{"service.scaled", "node.silent"}}, [3]bool{false, true, true}},
		{"about a node", eventSelection{node: "n1"}, [3]bool{true, false, true}},
		{"about another node", eventSelection{node: "n2"}, [3]bool{}},
		{"of a type, about a node", eventSelection{types: []string{"instance.lost"}, node: "n1"}, [3]bool{true, false, false}},
	} {
		if got := [3]bool{tt.s.has(lost), tt.s.has(scaled), tt.s.has(silent)}; got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
