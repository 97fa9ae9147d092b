package screens

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/table"
)

// column is a figure of every row, with its unit and, where that says something, colours.
type column struct {
	title, unit, expr string
	meaning           *dashboard.ThresholdsConfigBuilder
}

// rows are the things that labels tell apart, a row for each, with figures of now.
type rows struct {
	what
	// labels are shown as the titles beside them say.
	labels, titles []string
	columns        []column
	// screen is where a click on the first of the labels leads, "" for nowhere.
	screen, link string
}

func (r rows) panel(width uint32) *table.PanelBuilder {
	p := table.NewPanelBuilder().Title(r.title).Description(r.description).Datasource(source()).Unit(r.unit).
		Height(highHeight).Span(width).Thresholds(colours(plain)).NoValue("none")
	names, hidden := map[string]string{}, map[string]bool{"Time": true}
	for i, label := range r.labels {
		names[label] = r.titles[i]
	}
	for i, c := range r.columns {
		p.WithTarget(instant(i, ask{c.expr, c.title}).Format(prometheus.PromQueryFormatTable))
		names["Value #"+refID(i)] = c.title
		if len(r.columns) == 1 {
			names["Value"] = c.title
		}
		p.OverrideByName(c.title, c.looks())
	}
	for _, t := range []dashboard.DataTransformerConfig{
		{Id: "merge", Options: map[string]any{}},
		{Id: "organize", Options: map[string]any{"excludeByName": hidden, "renameByName": names}},
	} {
		p.WithTransformation(t)
	}
	if r.screen != "" {
		for _, title := range r.titles {
			p.OverrideByName(title, []dashboard.DynamicConfigValue{{Id: "links", Value: []map[string]any{{"title": r.link, "url": r.url()}}}})
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

// url is the other screen with the row's labels for its variables.
func (r rows) url() string {
	url := []string{"/d/" + r.screen + "?${__url_time_range}", "${datasource:queryparam}"}
	for i, label := range r.labels {
		if name := strings.TrimPrefix(label, "rookery_"); name == "namespace" || name == "service" || name == "node" {
			url = append(url, "var-"+name+`=${__data.fields["`+r.titles[i]+`"]}`)
		}
	}
	return strings.Join(url, "&")
}
