package screens

import (
	"cmp"
	"slices"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/table"
)

// column is a figure of every row, with its unit and, if they have a meaning, its colours. A column without a title is hidden: it brings
// labels that the others do not have.
type column struct {
	title, unit, expr string
	meaning           *dashboard.ThresholdsConfigBuilder
}

// rows is a table with a row for each set of labels, and with current figures.
type rows struct {
	what
	// labels are shown under the titles beside them. Click a service or a node to open its screen.
	labels, titles []string
	columns        []column
}

func (r rows) panel(width uint32) *table.PanelBuilder {
	p := table.NewPanelBuilder().Title(r.title).Description(r.description).Datasource(source()).Unit(r.unit).
		Height(highHeight).Span(width).Thresholds(colours(plain)).NoValue("none")
	names, places := map[string]string{}, map[string]int{}
	for i, label := range r.labels {
		names[label], places[label] = r.titles[i], i
	}
	left := map[string]bool{"Time": true}
	for i, c := range r.columns {
		p.WithTarget(instant(i, ask{c.expr, cmp.Or(c.title, "labels")}).Format(prometheus.PromQueryFormatTable))
		value := "Value #" + refID(i) // as Grafana names it where there are several
		if c.title == "" {
			left[value] = true
			continue
		}
		names[value], places[value] = c.title, len(r.labels)+i
		p.OverrideByName(c.title, c.looks())
	}
	for _, t := range []dashboard.DataTransformerConfig{
		{Id: "merge", Options: map[string]any{}},
		{Id: "organize", Options: map[string]any{
			"excludeByName": left, "indexByName": places, "renameByName": names,
		}},
	} {
		p.WithTransformation(t)
	}
	for i, label := range r.labels {
		if link := r.leads(label); link != nil {
			p.OverrideByName(r.titles[i], []dashboard.DynamicConfigValue{{Id: "links", Value: []map[string]any{link}}})
		}
	}
	return p
}

// looks are those of the column's cells.
func (c column) looks() []dashboard.DynamicConfigValue {
	looks := []dashboard.DynamicConfigValue{{Id: "unit", Value: c.unit}}
	if c.meaning == nil {
		return looks
	}
	meaning, err := c.meaning.Build()
	if err != nil {
		panic(err) // it is made of constants
	}
	return append(looks,
		dashboard.DynamicConfigValue{Id: "thresholds", Value: meaning},
		dashboard.DynamicConfigValue{Id: "custom.cellOptions", Value: map[string]any{"type": "color-text"}})
}

// leads returns the link from the cells of a label to the screen of the thing that it names, with the labels of the row as its variables.
// It returns nil for a label without a screen.
func (r rows) leads(label string) map[string]any {
	switch label {
	case "rookery_node":
		return map[string]any{"title": "Open the node", "url": r.url("rookery-node", label)}
	case "rookery_namespace", "rookery_service":
		return map[string]any{"title": "Open the service", "url": r.url("rookery-service", "rookery_namespace", "rookery_service")}
	}
	return nil
}

func (r rows) url(screen string, labels ...string) string {
	url := []string{"/d/" + screen + "?${__url_time_range}", "${datasource:queryparam}"}
	for _, label := range labels {
		title := r.titles[slices.Index(r.labels, label)]
		url = append(url, "var-"+strings.TrimPrefix(label, "rookery_")+`=${__data.fields["`+title+`"]}`)
	}
	return strings.Join(url, "&")
}
