package pictures

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prometheus/common/model"

	"github.com/rookery-project/rookery/deploy/grafana/written"
)

func TestSeriesAreCalledByTheirLegend(t *testing.T) {
	labels := model.Metric{"node": "a", "service": "web"}
	for _, c := range []struct{ legend, want string }{
		{"{{service}} on {{ node }}", "web on a"},
		{"evicted: {{rookery_reason}}", "evicted:"},
		{"median", "median"},
		{"", `{node="a", service="web"}`},
	} {
		if got := called(c.legend, labels); got != c.want {
			t.Errorf("%q is called %q, not %q", c.legend, got, c.want)
		}
	}
}

func TestOfManySeriesTheGreatestAreShown(t *testing.T) {
	var all []series
	for i, v := range []float64{3, 9, 1, 7} {
		all = append(all, series{name: string(rune('a' + i)), values: []sample{{value: v}, {value: 0}}})
	}
	var names []string
	for _, s := range foremost(all, 2) {
		names = append(names, s.name)
	}
	if got := strings.Join(names, ""); got != "bd" {
		t.Errorf("shown are %s, not b and d in their order", got)
	}
}

func TestSeriesAreStackedByTime(t *testing.T) {
	at := time.Unix(100, 0)
	sums := stack([]series{
		{values: []sample{{at, 1}}},
		{values: []sample{{at, 2}, {at.Add(time.Second), 5}}},
	})
	if sums[0][at] != 1 || sums[1][at] != 3 || sums[1][at.Add(time.Second)] != 5 {
		t.Errorf("the sums are %v", sums)
	}
}

func TestALineIsNotDrawnOverWhatIsMissing(t *testing.T) {
	at := time.Unix(100, 0)
	found := parts([]sample{{at: at}, {at: at.Add(15 * time.Second)}, {at: at.Add(60 * time.Second)}}, 15*time.Second)
	if len(found) != 2 || len(found[0]) != 2 || len(found[1]) != 1 {
		t.Errorf("the parts are %v", found)
	}
}

func TestColoursFollowThresholds(t *testing.T) {
	from := 0.8
	levels := written.Thresholds{Steps: []written.Step{{Color: "green"}, {Value: &from, Color: "red"}}}
	if colour(levels, -1) != named["green"] || colour(levels, 0.79) != named["green"] || colour(levels, 0.8) != named["red"] {
		t.Error("0.8 is not where red begins")
	}
}

// nodes is a screen with a table, in Grafana's JSON.
var nodes = fstest.MapFS{"nodes.json": {Data: []byte(`{"panels": [{
	"type": "table", "targets": [{"refId": "A"}, {"refId": "B"}, {"refId": "C"}],
	"fieldConfig": {
		"defaults": {"unit": "percentunit", "noValue": "none", "thresholds": {"steps": [{"value": null, "color": "blue"}]}},
		"overrides": [
			{"matcher": {"id": "byName", "options": "Full"}, "properties": [
				{"id": "thresholds", "value": {"steps": [{"value": null, "color": "green"}, {"value": 0.8, "color": "red"}]}},
				{"id": "custom.cellOptions", "value": {"type": "color-text"}}]},
			{"matcher": {"id": "byName", "options": "Heard"}, "properties": [{"id": "unit", "value": "s"}]}]},
	"transformations": [{"id": "organize", "options": {
		"excludeByName": {"Value #C": true},
		"indexByName": {"node": 0, "state": 1, "Value #A": 2, "Value #B": 3},
		"renameByName": {"node": "Node", "state": "State", "Value #A": "Full", "Value #B": "Heard"}}}]
}]}`)}}

func TestTablesHaveARowForEachThing(t *testing.T) {
	s, err := written.Screens(nodes)
	if err != nil {
		t.Fatal(err)
	}
	p := panel{Panel: s[0].Panels[0]}
	if p.overridden, err = overriddenBy(p.Panel); err != nil {
		t.Fatal(err)
	}
	a, b := model.Metric{"node": "a"}, model.Metric{"node": "b"}
	p.said = []model.Value{
		model.Vector{{Metric: b, Value: 0.5}, {Metric: a, Value: 0.9}},
		model.Vector{{Metric: a, Value: 20}},
		model.Vector{{Metric: model.Metric{"node": "a", "state": "ready"}, Value: 1}},
	}
	rows := rowsOf(p)
	var got [][]string
	for _, r := range rows {
		var line []string
		for _, f := range fieldsOf(p, rows) {
			text, i := f.cell(r)
			if i == named["red"] {
				text += " in red"
			}
			line = append(line, f.title+": "+text)
		}
		got = append(got, line)
	}
	want := [][]string{{"Node: a", "State: ready", "Full: 90% in red", "Heard: 20 s"}, {"Node: b", "State: ", "Full: 50%", "Heard: none"}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the rows are %q, not %q", got, want)
	}
}
