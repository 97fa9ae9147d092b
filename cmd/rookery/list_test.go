package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden screens; review the diff")

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// told returns a value in the form of a view.
func toldOf(t *testing.T, bucket, key string, value any) bus.Change {
	t.Helper()
	body, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return bus.Change{Bucket: bucket, Key: key, Value: body}
}

// exampleViews returns the views of a cluster with several problems.
func exampleViews(t *testing.T) bus.Sight {
	t.Helper()
	three := int32(3)
	instance := func(name string, ordinal uint32, node, status string) views.Instance {
		return views.Instance{
			Namespace: "demo", Name: name, Ordinal: ordinal, Generation: 1, Revision: 1, Node: node, Status: status,
			Times: views.Times{Created: noon.Add(-3 * time.Hour)},
		}
	}
	web0, web1, stuck := instance("web", 0, "edge-1", "online"), instance("web", 1, "edge-2", "offline"), instance("stuck", 0, "", "pending")
	web0.Address, web0.Ports = "192.168.100.101", []events.PortBinding{{Name: "http", HostPort: 20000}, {Name: "admin", HostPort: 20001}}
	web1.Reason, web1.ExitCode, web1.Output, web1.Restarts = "exited", &three, "demo.web.1.1.0", 4
	next := instance("web", 1, "edge-1", "offline")
	next.Generation, web1.Next = 2, &next
	stuck.Generation, stuck.Message = 0, "of 3 nodes 2 with too little memory left, 1 without the labels of node_selector"
	op := views.ServiceOperation{Namespace: "demo", Name: "web", Command: 7, Waves: 3, Sequence: 99, Operation: views.Operation{
		Kind: events.OperationUpdate, Revision: 2, From: 1, Wave: 2, Slots: events.Ordinals{1}, Waiting: events.Ordinals{2}, Phase: "start",
		Since: noon.Add(-time.Minute), Until: noon.Add(time.Minute), WaitsFor: events.Ordinals{1},
	}, Waits: []views.Wait{{Ordinal: 1, Instance: "demo/web.1.2", Node: "edge-1", Missing: "it has not served for 5s: it is offline as initializing"}}}
	ended := views.ServiceOperation{
		Namespace: "shop", Name: "basket", Outcome: events.OperationRolledBack, Message: "slot 0 failed: it exited with 1 four times in a row",
		Ended: noon.Add(-50 * time.Hour), Operation: views.Operation{Kind: events.OperationUpdate, Revision: 5, Wave: 1},
	}
	node := func(name string, state projections.NodeState) views.Node {
		n := views.Node{Name: name, State: state, Epoch: 3, Instances: 2, Allocatable: events.Resources{CPU: 8000, Memory: 16 << 30}}
		n.Zone, n.Address, n.Ports = "rack-1", "192.168.100.101", events.PortRange{First: 20000, Last: 29999}
		n.Engine, n.Reserved = "podman 4.3.1", events.Resources{CPU: 500, Memory: 3 << 30}
		return n
	}
	degraded := node("edge-2", "degraded")
	degraded.Degraded, degraded.Orphans = "Podman has not answered for 12s", 1
	service := func(namespace, name, state string, online int, scale uint32) views.Service {
		return views.Service{Namespace: namespace, Name: name, State: state, Revision: 2, Online: online, Scale: scale, Spec: events.Spec{Image: "localhost/web:1"}, Sequence: 98}
	}
	return bus.Sight{Whole: true, Changes: []bus.Change{
		toldOf(t, bus.BucketServices, "demo.web", service("demo", "web", "updating", 1, 2)),
		toldOf(t, bus.BucketServices, "demo.stuck", service("demo", "stuck", "pending", 0, 1)),
		toldOf(t, bus.BucketServices, "shop.basket", service("shop", "basket", "running", 12, 12)),
		toldOf(t, bus.BucketInstances, "demo.web.0", web0), toldOf(t, bus.BucketInstances, "demo.web.1", web1),
		toldOf(t, bus.BucketInstances, "demo.stuck.0", stuck),
		toldOf(t, bus.BucketOperations, "demo.web", op), toldOf(t, bus.BucketOperations, "shop.basket", ended),
		toldOf(t, bus.BucketNodes, "edge-1", node("edge-1", "ready")), toldOf(t, bus.BucketNodes, "edge-2", degraded),
	}}
}

// seenOf returns the views after these changes, and what one instance uses. Another measurement is of an instance before.
func seenOf(t *testing.T, told bus.Sight) *seen {
	t.Helper()
	s := newSeen()
	if err := s.take(told); err != nil {
		t.Fatal(err)
	}
	for ordinal, generation := range []uint32{1, 7} {
		m, err := events.Encode(fmt.Sprintf("rookery.metric.demo.web.%d.edge-1", ordinal), events.MetricProcess{
			Namespace: "demo", Name: "web", Ordinal: uint32(ordinal), Generation: generation, Node: "edge-1",
			ProcessUse: events.ProcessUse{CPUNanoCores: new(uint64(12_300_000)), MemoryBytes: new(uint64(50 << 20))},
		}, events.Attributes{ID: "1", Source: "/rookery/node/edge-1", Time: noon.Add(-20 * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		s.measure(m)
	}
	return s
}

// examplePages returns the pages of all lists.
func examplePages(s *seen) map[string]page {
	return map[string]page{
		"ps": instancesPage(s, within{}, noon), "services": servicesPage(s, within{}, noon),
		"nodes": nodesPage(s.nodesOf("")), "ops": operationsPage(s.operationsOf(within{}), noon), "stats": statsPage(s, within{}, noon),
	}
}

// TestListsFitTheScreen compares every list with its golden screen at 80 and 200 columns, wide, and in a pipe.
func TestListsFitTheScreen(t *testing.T) {
	pages := examplePages(seenOf(t, exampleViews(t)))
	var text strings.Builder
	for _, name := range []string{"ps", "services", "nodes", "ops", "stats"} {
		for _, s := range []struct {
			name  string
			style grid.Style
		}{{"80 columns", grid.Style{Width: 80}}, {"200 columns", grid.Style{Width: 200}}, {"a pipe", grid.Style{}}, {"wide", grid.Style{Width: 80, All: true}}} {
			text.WriteString("== " + name + ", " + s.name + "\n")
			for _, line := range pages[name].lines(s.style) {
				text.WriteString(line + "\n")
				if s.style.Width > 0 && !s.style.All && ansi.StringWidth(line) > s.style.Width {
					t.Errorf("%s at %s has a line of %d: %s", name, s.name, ansi.StringWidth(line), line)
				}
			}
			text.WriteString("\n")
		}
	}
	golden(t, "testdata/lists.txt", text.String())
}

// golden compares a text with its golden file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs: go test ./cmd/rookery -rewrite rewrites it. Got\n%s", file, got)
	}
}

// TestChangedRowsAreWritten checks what --watch writes into a pipe.
func TestChangedRowsAreWritten(t *testing.T) {
	for _, row := range []struct{ format, first, changed, gone string }{
		{
			"text", "NODE    STATE", "edge-2  ready     rack-1  192.168.100.101  2            0.5 of 8  3.0 of 16.0 GiB  20000-29999  podman 4.3.1\n", "edge-2  gone\n",
		},
		{"json", `{"name":"edge-1","state":"ready"`, `{"name":"edge-2","state":"ready"`, `{"gone":"edge-2"}` + "\n"},
		{"yaml", "---\nname: edge-1\nstate: ready\n", "---\nname: edge-2\nstate: ready\n", "---\ngone: edge-2\n"},
	} {
		var out, trouble bytes.Buffer
		s := seenOf(t, exampleViews(t))
		on := &lines{list: &list{out: output{row.format}}, out: &out, trouble: &trouble, rows: map[string]string{}}
		draw := func(lost error) string {
			t.Helper()
			out.Reset()
			if err := on.draw(nodesPage(s.nodesOf("")), lost); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		if got := draw(nil); !strings.HasPrefix(got, row.first) {
			t.Errorf("%s: it begins with\n%s", row.format, got)
		}
		if got := draw(nil); got != "" {
			t.Errorf("%s: without a change it writes %q", row.format, got)
		}
		n := s.nodes["edge-2"]
		n.State, n.Orphans, n.Degraded = "ready", 0, ""
		s.nodes["edge-2"] = n
		if got := draw(nil); row.format != "text" && !strings.HasPrefix(got, row.changed) || row.format == "text" && strings.Count(got, "\n") != 1 {
			t.Errorf("%s: the change is written as %q", row.format, got)
		}
		if got := draw(errors.New("no server")); got != "" || !strings.Contains(trouble.String(), "no server") {
			t.Errorf("%s: without a bus it writes %q, and says %q", row.format, got, trouble.String())
		}
		delete(s.nodes, "edge-2")
		if got := draw(nil); got != row.gone || !strings.HasSuffix(trouble.String(), "the bus is back\n") {
			t.Errorf("%s: a removed row is written as %q, with the notes %q", row.format, got, trouble.String())
		}
	}
}

// TestAPictureHasRoomOnItsScreen draws on screens with too few lines.
func TestAPictureHasRoomOnItsScreen(t *testing.T) {
	p := instancesPage(seenOf(t, exampleViews(t)), within{}, noon)
	for height := 1; height < 30; height++ {
		for _, lost := range []error{nil, errors.New("no server")} {
			drawn := pictured(p, grid.Style{Width: 80}, height, lost)
			if len(drawn) > height {
				t.Errorf("%d lines are drawn on a screen of %d", len(drawn), height)
			}
			if last := drawn[len(drawn)-1]; lost != nil && !strings.HasPrefix(last, "the bus is lost") {
				t.Errorf("the last line is %q", last)
			}
		}
	}
}

func TestValuesAreWrittenAsYAML(t *testing.T) {
	got, err := yamlOf(map[string]any{"a": "yes", "b": []any{1, "2", nil, map[string]any{}}, "c": "two\nlines", "d": []any{}, "e": "a: b", "f": 1e9, "g": "é\u0007"})
	want := "a: \"yes\"\nb:\n  - 1\n  - \"2\"\n  - null\n  - {}\nc: |-\n  two\n  lines\nd: []\ne: 'a: b'\nf: 1000000000\ng: \"é\\a\"\n"
	if err != nil || string(got) != want {
		t.Errorf("it is %v\n%s\nwant\n%s", err, got, want)
	}
}

// TestEventsAreFoldedBelowThemselves wraps an event for several kinds of screens.
func TestEventsAreFoldedBelowThemselves(t *testing.T) {
	const line = "13:53:45.587  demo/web  instance.pending 0: of 3 nodes 3 with too little memory left"
	for _, row := range []struct {
		style grid.Style
		want  string
	}{
		{grid.Style{}, line},
		{grid.Style{Width: 60}, "13:53:45.587  demo/web  instance.pending 0: of 3 nodes 3\n              with too little memory left"},
		{grid.Style{Width: 60, All: true}, "      17  " + line},
		{
			grid.Style{Width: 200, Colour: true}, "\x1b[38;5;243m13:53:45.587\x1b[39m  demo/web  \x1b[38;5;130minstance.pending\x1b[39m" +
				" 0: of 3 nodes 3 with too little memory left",
		},
	} {
		if got := strings.Join(eventLines(line, 17, row.style), "\n"); got != row.want {
			t.Errorf("it is laid out as\n%q\nwant\n%q", got, row.want)
		}
	}
}
