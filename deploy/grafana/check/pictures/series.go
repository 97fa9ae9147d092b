package pictures

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/rookery-project/rookery/deploy/grafana/written"
)

// series are values that belong together, with the name in the legend.
type series struct {
	name   string
	labels model.Metric
	values []sample
	ink    ink
}

// sample is a value at a time.
type sample struct {
	at    time.Time
	value float64
}

// last is the value of the end.
func (s series) last() float64 { return s.values[len(s.values)-1].value }

// greatest is the largest value.
func (s series) greatest() float64 {
	return slices.MaxFunc(s.values, func(a, b sample) int { return cmp.Compare(a.value, b.value) }).value
}

// allSeries returns the series in the answers of a panel. They are in the order of their targets and then of their labels, whatever order
// the answers have. A series without a value that can be drawn is left out.
func allSeries(p written.Panel, said []model.Value) []series {
	var all []series
	for i, answer := range said {
		found := seriesOf(answer)
		slices.SortFunc(found, func(a, b series) int { return strings.Compare(a.labels.String(), b.labels.String()) })
		for _, s := range found {
			if len(s.values) > 0 {
				s.name = called(p.Targets[i].LegendFormat, s.labels)
				all = append(all, s)
			}
		}
	}
	return all
}

func seriesOf(answer model.Value) []series {
	var all []series
	switch answer := answer.(type) {
	case model.Matrix:
		for _, stream := range answer {
			s := series{labels: stream.Metric}
			for _, pair := range stream.Values {
				s.values = appended(s.values, pair.Timestamp, pair.Value)
			}
			all = append(all, s)
		}
	case model.Vector:
		for _, one := range answer {
			all = append(all, series{labels: one.Metric, values: appended(nil, one.Timestamp, one.Value)})
		}
	case *model.Scalar:
		all = append(all, series{values: appended(nil, answer.Timestamp, answer.Value)})
	}
	return all
}

// appended leaves out values that are not finite, such as a quantile of no samples.
func appended(to []sample, at model.Time, v model.SampleValue) []sample {
	if value := float64(v); !math.IsNaN(value) && !math.IsInf(value, 0) {
		return append(to, sample{at.Time(), value})
	}
	return to
}

// hole is where a legend has the value of a label.
var hole = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

// called is the name by a legend, with labels in the places of {{label}}. Without a legend it is the labels.
func called(legend string, labels model.Metric) string {
	if legend == "" || legend == "__auto" {
		return labels.String()
	}
	return strings.TrimSpace(hole.ReplaceAllStringFunc(legend, func(found string) string {
		return string(labels[model.LabelName(hole.FindStringSubmatch(found)[1])])
	}))
}

// foremost are the n with the greatest values, in the order in which they were.
func foremost(all []series, n int) []series {
	if len(all) <= n {
		return all
	}
	places := make([]int, len(all))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(all[b].greatest(), all[a].greatest()) })
	places = places[:n]
	slices.Sort(places)
	first := make([]series, n)
	for i, place := range places {
		first[i] = all[place]
	}
	return first
}
