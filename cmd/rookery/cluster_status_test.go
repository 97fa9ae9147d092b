package main

import (
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

func TestStatusOfParts(t *testing.T) {
	for _, row := range []struct {
		part  *partStatus
		shown string
		wrong string
	}{
		{nil, "", ""},
		{&partStatus{"active", "ready", "v1"}, "ready, v1", ""},
		{&partStatus{"active", "leads", ""}, "leads, of an unknown version", ""},
		{&partStatus{"active", "", ""}, "active", "the bus says of its node: nothing, and its unit is active"},
		{&partStatus{"active", "silent", "v1"}, "silent, v1", "the bus says of its node: silent"},
		{&partStatus{"active", "drained", "v1"}, "drained, v1", ""},
		{&partStatus{"failed", "silent", "v1"}, "failed", "and its unit is failed: see journalctl --unit rookery-node.service"},
	} {
		if got := row.part.String(); got != row.shown {
			t.Errorf("%+v is shown as %q, want %q", row.part, got, row.shown)
		}
		err := hostStatus{Name: "host-1", Node: row.part}.Err()
		if row.wrong == "" && err != nil || row.wrong != "" && (err == nil || !strings.Contains(err.Error(), row.wrong)) {
			t.Errorf("%+v: the error is %v, want %q", row.part, err, row.wrong)
		}
	}
}

func TestStatusOnTheBus(t *testing.T) {
	o := onBus{
		servers:      []bus.Server{{Name: "host-1", Version: "2.15.2"}},
		coordinators: []bus.Coordinator{{Name: "host-1-12-abcdef"}, {Name: "host-1-123-abcdef"}, {Name: "host-2-12-abcdef"}},
		leader:       "host-1-123-abcdef",
		nodes:        []views.Node{{Name: "host-2", State: "drained"}},
	}
	server, _ := o.server("host-1")
	lost, _ := o.server("host-2")
	leads, _ := o.coordinator(unitOf{named: "host-1-123-"})
	stands, _ := o.coordinator(unitOf{named: "host-1-12-"})
	none, _ := o.coordinator(unitOf{named: "host-1-1-"})
	named, _ := o.coordinator(unitOf{named: "host-1-12"})
	node, _ := o.node("host-2")
	if got := []string{server, lost, leads, stands, none, named, node}; strings.Join(got, "|") != "serves||leads|stands by|||drained" {
		t.Errorf("the states are %q", got)
	}
}
