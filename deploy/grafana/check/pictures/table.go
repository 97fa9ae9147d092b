package pictures

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/rookery-project/rookery/deploy/grafana/written"
)

const tableRow = 24

// field is a column of a table: a label's values, or those of a target where it has one.
type field struct {
	title  string
	place  int
	label  model.LabelName
	target int
	looks  looks
}

// table draws a row for each set of labels, with a column for each label and for the value of each target.
func table(c canvas, b box, p panel) bool {
	rows := rowsOf(p)
	if len(rows) == 0 {
		return false
	}
	fields := fieldsOf(p, rows)
	room := max(1, b.h/tableRow-1)
	more := 0
	if len(rows) > room {
		more = len(rows) - room + 1
		rows = rows[:room-1]
	}
	widths := widthsOf(c, b.w, fields, rows)
	x := b.x
	for i, f := range fields {
		cell := box{x, b.y, widths[i] - 12, tableRow}
		c.write(f, f.title, dim, cell)
		for _, r := range rows {
			cell.y += tableRow
			text, ink := f.cell(r)
			c.write(f, text, ink, cell)
		}
		x += widths[i]
	}
	for i := range rows {
		c.fill(box{b.x, b.y + (i+1)*tableRow, b.w, 1}, rule)
	}
	if more > 0 {
		c.left(fmt.Sprintf("and %d more", more), small, dim, box{b.x, b.y + (len(rows)+1)*tableRow, b.w, tableRow})
	}
	return true
}

// write puts labels on the left of a cell, and numbers on its right.
func (c canvas) write(f field, text string, i ink, cell box) {
	if f.label != "" {
		c.left(text, medium, i, cell)
	} else {
		c.right(text, medium, i, cell)
	}
}

// record is a row: labels, and values by their target.
type record struct {
	labels model.Metric
	values map[int]float64
}

// rowsOf merges the answers as the transformation of Grafana does (merge.ts). Series are one row if they have the same values of the labels
// that all answers share, unless they differ in another label. Rows are in the order of their labels.
func rowsOf(p panel) []record {
	var answers [][]series
	for _, answer := range p.said {
		answers = append(answers, slices.DeleteFunc(seriesOf(answer), func(s series) bool { return len(s.values) == 0 }))
	}
	mutual := mutualLabels(answers)
	var rows []record
	for target, answer := range answers {
		for _, s := range answer {
			at := slices.IndexFunc(rows, func(r record) bool { return r.takes(s.labels, target, mutual) })
			if at < 0 {
				at = len(rows)
				rows = append(rows, record{model.Metric{}, map[int]float64{}})
			}
			maps.Copy(rows[at].labels, s.labels)
			rows[at].values[target] = s.last()
		}
	}
	slices.SortFunc(rows, func(a, b record) int { return strings.Compare(a.labels.String(), b.labels.String()) })
	return rows
}

// mutualLabels are those that all series of all answers have, but for answers that are empty.
func mutualLabels(answers [][]series) []model.LabelName {
	count, all := map[model.LabelName]int{}, 0
	for _, answer := range answers {
		for _, s := range answer {
			all++
			for label := range s.labels {
				count[label]++
			}
		}
	}
	var mutual []model.LabelName
	for _, label := range slices.Sorted(maps.Keys(count)) {
		if count[label] == all {
			mutual = append(mutual, label)
		}
	}
	return mutual
}

// takes reports whether the answer of a target belongs to this row.
func (r record) takes(labels model.Metric, target int, mutual []model.LabelName) bool {
	if _, taken := r.values[target]; taken {
		return false
	}
	for label, value := range labels {
		if has, there := r.labels[label]; there && has != value {
			return false
		}
	}
	return !slices.ContainsFunc(mutual, func(label model.LabelName) bool { return r.labels[label] != labels[label] })
}

// fieldsOf are the columns in their order, as the panel's transformations name and place them.
func fieldsOf(p panel, rows []record) []field {
	var all []field
	add := func(name string, f field) {
		if slices.ContainsFunc(p.Transformations, func(t written.Transformation) bool { return t.Options.ExcludeByName[name] }) {
			return
		}
		f.title, f.place = name, len(p.Targets)+len(all)+100
		for _, t := range p.Transformations {
			if renamed := t.Options.RenameByName[name]; renamed != "" {
				f.title = renamed
			}
			if place, given := t.Options.IndexByName[name]; given {
				f.place = place
			}
		}
		f.looks = p.looks(f.title)
		all = append(all, f)
	}
	labels := map[model.LabelName]bool{}
	for _, r := range rows {
		for label := range r.labels {
			labels[label] = true
		}
	}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		add(string(label), field{label: label})
	}
	for i, t := range p.Targets {
		name := "Value #" + t.RefID
		if len(p.Targets) == 1 {
			name = "Value"
		}
		add(name, field{target: i})
	}
	slices.SortFunc(all, func(a, b field) int {
		if a.place != b.place {
			return a.place - b.place
		}
		return strings.Compare(a.title, b.title)
	})
	return all
}

// cell is what stands in the row's cell.
func (f field) cell(r record) (string, ink) {
	if f.label != "" {
		return string(r.labels[f.label]), bright
	}
	value, there := r.values[f.target]
	switch {
	case !there:
		return f.looks.NoValue, dim
	case !f.looks.coloured:
		return tell(f.looks.Unit, f.looks.Decimals, value), bright
	}
	return tell(f.looks.Unit, f.looks.Decimals, value), colour(f.looks.Thresholds, value)
}

// widthsOf divides the width among the columns by the length of their texts.
func widthsOf(c canvas, whole int, fields []field, rows []record) []int {
	widths, sum := make([]int, len(fields)), 0
	for i, f := range fields {
		widths[i] = c.width(f.title, medium)
		for _, r := range rows {
			text, _ := f.cell(r)
			widths[i] = max(widths[i], c.width(text, medium))
		}
		widths[i] += 24
		sum += widths[i]
	}
	for i := range widths {
		widths[i] = widths[i] * whole / sum
	}
	return widths
}
