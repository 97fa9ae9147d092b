package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
	"github.com/theory/jsonpath"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// selection says which of the values in a list are shown, and in which order.
type selection struct {
	namespace string
	labels    map[string]string
	sort      string // the head of a column; "" for the order of keys
}

// flags adds those of a list that reads these buckets.
func (s *selection) flags(cmd *cobra.Command, buckets []string) {
	if slices.Contains(buckets, bus.BucketServices) {
		cmd.Flags().StringVarP(&s.namespace, "namespace", "n", "", "show this `namespace` alone")
	}
	cmd.Flags().StringToStringVarP(&s.labels, "label", "l", nil, "show what has this label alone, as `name=value`; of instances and operations the labels of their service count")
	s.sortFlag(cmd)
}

func (s *selection) sortFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.sort, "sort", "", "sort by this `column` of the table")
}

// of returns what is selected of what is seen.
func (s *selection) of(all *seen) *seen {
	some := newSeen()
	for key, v := range all.services {
		if s.has(v.Namespace) && s.labelled(v.Spec.Labels) {
			some.services[key] = v
		}
	}
	service := func(namespace, name string) bool {
		v, known := all.services[namespace+"."+name]
		return s.has(namespace) && (len(s.labels) == 0 || (known && s.labelled(v.Spec.Labels)))
	}
	some.instances = selected(all.instances, func(v views.Instance) bool { return service(v.Namespace, v.Name) })
	some.operations = selected(all.operations, func(v views.ServiceOperation) bool { return service(v.Namespace, v.Name) })
	some.usage = all.usage
	some.nodes = selected(all.nodes, func(v views.Node) bool { return s.labelled(v.Labels) })
	return some
}

func selected[T any](all map[string]T, wanted func(T) bool) map[string]T {
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(_ string, v T) bool { return !wanted(v) })
	return some
}

func (s *selection) has(namespace string) bool { return s.namespace == "" || s.namespace == namespace }

func (s *selection) labelled(labels map[string]string) bool {
	for name, value := range s.labels {
		if got, has := labels[name]; !has || got != value {
			return false
		}
	}
	return true
}

// check returns an error for a column that the table does not have.
func (s *selection) check(cmd *cobra.Command, columns []grid.Column) error {
	if s.sort == "" || s.column(columns) >= 0 {
		return nil
	}
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = strings.ToLower(c.Head)
	}
	return usage(cmd, fmt.Errorf("--sort %q: want one of %s", s.sort, strings.Join(heads, ", ")))
}

func (s *selection) column(columns []grid.Column) int {
	return slices.IndexFunc(columns, func(c grid.Column) bool { return strings.EqualFold(c.Head, s.sort) })
}

// order sorts the rows of a page, and its values where each has a row.
func (s *selection) order(p page) page {
	column := s.column(p.grid.Columns)
	if s.sort == "" || column < 0 {
		return p
	}
	text := func(r grid.Row) string { return r.Cells[column].Text }
	slices.SortStableFunc(p.grid.Rows, func(a, b grid.Row) int { return compareTexts(text(a), text(b)) })
	place := map[string]int{}
	for i, r := range p.grid.Rows {
		place[r.Key] = i
	}
	slices.SortStableFunc(p.values, func(a, b value) int { return cmp.Compare(place[a.key], place[b.key]) })
	return p
}

// compareTexts compares numbers, and what begins with one, as numbers, and everything else as text.
func compareTexts(a, b string) int {
	x, okX := leadingNumber(a)
	y, okY := leadingNumber(b)
	if okX && okY && x != y {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

// leadingNumber reads "12", "3/5" as 3, and ages such as "2m" in seconds.
func leadingNumber(text string) (float64, bool) {
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(text)
	}
	n, err := strconv.ParseFloat(text[:end], 64)
	seconds, timed := map[string]float64{"s": 1, "m": 60, "h": 3600, "d": 86400}[text[end:]]
	if timed {
		n *= seconds
	}
	return n, err == nil
}

// The formats of lists beside those of other commands.
const (
	formatName = "name"
	formatPath = "jsonpath="
)

// pathHelp explains the second.
const pathHelp = "jsonpath=EXPRESSION (RFC 9535, over the list of values)"

// listFlag is the flag of a command that lists values.
func (o *output) listFlag(cmd *cobra.Command) {
	o.formats(cmd, formatText, formatWide, formatJSON, formatYAML, formatName, pathHelp)
	known := cmd.PreRunE
	cmd.PreRunE = func(c *cobra.Command, args []string) error {
		expression, is := strings.CutPrefix(o.format, formatPath)
		if !is {
			return known(c, args)
		}
		if _, err := jsonpath.Parse(expression); err != nil {
			return usage(c, fmt.Errorf("--output %s: %w: write it as jsonpath=$[*].name", o.format, err))
		}
		return nil
	}
}

// printSelected prints names, or what an expression selects, a line each. It reports whether the format is one of these.
func (o *output) printSelected(out io.Writer, values []value) (bool, error) {
	expression, path := strings.CutPrefix(o.format, formatPath)
	if !path && o.format != formatName {
		return false, nil
	}
	if !path {
		for _, v := range values {
			fmt.Fprintln(out, v.key)
		}
		return true, nil
	}
	all := make([]any, len(values))
	for i, v := range values {
		body, err := json.Marshal(v.of)
		if err != nil {
			return true, err
		}
		if err := json.Unmarshal(body, &all[i]); err != nil {
			return true, err
		}
	}
	for found := range jsonpath.MustParse(expression).Select(all).All() {
		if text, is := found.(string); is {
			fmt.Fprintln(out, text)
			continue
		}
		body, err := json.Marshal(found)
		if err != nil {
			return true, err
		}
		fmt.Fprintln(out, string(body))
	}
	return true, nil
}
