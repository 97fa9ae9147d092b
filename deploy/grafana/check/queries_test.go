package check_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/rookery-project/rookery/deploy/grafana/query"
)

// TestPrometheusUnderstandsEveryQuery parses the queries of panels, variables, annotations and rules as Prometheus does.
func TestPrometheusUnderstandsEveryQuery(t *testing.T) {
	all := queries(t)
	if len(all) < 100 {
		t.Errorf("%d queries were found: most are overlooked", len(all))
	}
	for _, q := range all {
		if _, err := promql.ParseExpr(query.Expand(q.Expr, query.Everything())); err != nil {
			t.Errorf("%s: %v\n%s", q.Where, err, q.Expr)
		}
	}
}

// TestQueriesAskForWhatIsMeasured compares the metrics and labels of all queries with the tables of the README, and those tables with the
// instruments in the source.
func TestQueriesAskForWhatIsMeasured(t *testing.T) {
	known := listed(t, instruments(t))
	asked := map[string]bool{}
	for _, q := range queries(t) {
		expr, err := promql.ParseExpr(query.Expand(q.Expr, query.Everything()))
		if err != nil {
			continue // said by the test above
		}
		for metric, labels := range namesOf(expr) {
			family := known.family(metric)
			if family == "" {
				t.Errorf("%s asks for %s, which is not a metric of Rookery\n%s", q.Where, metric, q.Expr)
				continue
			}
			asked[family] = true
			for label := range labels {
				if !slices.Contains(known[family], label) {
					t.Errorf("%s asks for the label %s of %s, which has %v\n%s", q.Where, label, metric, known[family], q.Expr)
				}
			}
		}
	}
	for family := range known {
		if !asked[family] && family != "ALERTS" && !strings.HasPrefix(family, "go_") {
			t.Errorf("no screen shows %s", family)
		}
	}
}

// namesOf returns the metrics of a query, each with the labels that the query selects or groups it by.
func namesOf(expr parser.Expr) map[string]map[string]bool {
	found := map[string]map[string]bool{}
	parser.Inspect(expr, func(n parser.Node, parents []parser.Node) error {
		selector, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		labels := found[selector.Name]
		if labels == nil {
			labels = map[string]bool{}
			found[selector.Name] = labels
		}
		for _, m := range selector.LabelMatchers {
			if m.Name != "__name__" {
				labels[m.Name] = true
			}
		}
		for _, label := range grouping(parents) {
			labels[label] = true
		}
		return nil
	})
	return found
}

// grouping are the labels of the innermost aggregation around a series: those further out are among them.
func grouping(parents []parser.Node) []string {
	for _, p := range slices.Backward(parents) {
		if a, ok := p.(*parser.AggregateExpr); ok {
			return a.Grouping
		}
	}
	return nil
}

// families are the metrics that Prometheus finds, with the labels that they may have.
type families map[string][]string

// family returns the metric that a series belongs to, "" for none. Histograms have three kinds of series.
func (f families) family(series string) string {
	if f[series] != nil {
		return series
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if name, ok := strings.CutSuffix(series, suffix); ok && slices.Contains(f[name], "le") {
			return name
		}
	}
	return ""
}

// instrument is one that the program has.
type instrument struct {
	grows, distributed bool
	listed             bool
}

// ofRuntime are the instruments of Go's runtime, which a package of OpenTelemetry makes for telemetry.Start.
func ofRuntime() map[string]*instrument {
	return map[string]*instrument{
		"go.memory.used": {}, "go.goroutine.count": {}, "go.memory.limit": {}, "go.memory.gc.goal": {}, "go.processor.limit": {}, "go.config.gogc": {},
		"go.memory.allocated": {grows: true}, "go.memory.allocations": {grows: true},
	}
}

var made = regexp.MustCompile(`\b(\w+)\("(rookery\.[a-z.]+|error\.type|network\.io\.direction)"`)

// instruments are read from the source of the packages that measure, with the keys of attributes as instruments named "".
func instruments(t *testing.T) map[string]*instrument {
	t.Helper()
	found := ofRuntime()
	for _, folder := range []string{"coordinator/runner/telemetry", "coordinator/runner/backup", "node/runner", "node/podman", "events/bus"} {
		paths, err := filepath.Glob("../../../" + folder + "/*.go")
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s has no source: %v", folder, err)
		}
		for _, path := range paths {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range made.FindAllStringSubmatch(string(source), -1) {
				switch maker, name := call[1], call[2]; maker {
				case "counter", "Int64Counter", "Int64ObservableCounter":
					found[name] = &instrument{grows: true}
				case "seconds", "many", "Float64Histogram":
					found[name] = &instrument{distributed: true}
				case "level", "gauge", "since", "cores", "Int64ObservableGauge", "Float64ObservableGauge":
					found[name] = &instrument{}
				case "Key", "String", "Int", "Int64": // a key of an attribute
				default:
					if !strings.HasSuffix(path, "_test.go") {
						t.Errorf("%s: %s(%q) makes an instrument that this test does not know", path, maker, name)
					}
				}
			}
		}
	}
	return found
}

// keys are those of attributes, and what README.md calls them.
var keys = map[string]string{
	"rookery.stream": "stream", "rookery.role": "role", "rookery.work": "work", "rookery.scope": "scope",
	"rookery.reason": "reason", "rookery.verb": "verb", "rookery.outcome": "outcome",
	"rookery.operation": "operation", "rookery.reached": "reached", "rookery.phase": "phase", "rookery.namespace": "namespace",
	"rookery.service": "service", "rookery.ordinal": "ordinal", "rookery.node": "node", "rookery.state": "state",
	"go.memory.type": "go.memory.type", "rookery.engine.call": "engine.call", "error.type": "error.type", "network.io.direction": "network.io.direction",
}

var (
	row    = regexp.MustCompile("(?m)^\\| (`(?:rookery|go)\\..*?) \\| (.*?) \\|(.*?) \\| [0-9,]+ \\|$")
	quoted = regexp.MustCompile("`((?:rookery|go)\\.[a-z.]+)`")
	word   = regexp.MustCompile(`[a-z]+(\.[a-z]+)*`)
)

// listed reads the tables of README.md, and compares them with the instruments.
func listed(t *testing.T, all map[string]*instrument) families {
	t.Helper()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := families{"ALERTS": {"alertname", "alertstate"}}
	ofNodes := strings.Index(string(readme), "\n| node | unit |")
	var before []string
	for _, at := range row.FindAllStringSubmatchIndex(string(readme), -1) {
		cell := func(i int) string { return string(readme[at[2*i]:at[2*i+1]]) }
		labels := attributes(strings.TrimSpace(cell(3)), before)
		before = labels
		if at[0] > ofNodes && !strings.Contains(cell(1), "`rookery.engine.") && !strings.HasPrefix(cell(1), "`go.") {
			labels = append(slices.Clone(labels), "rookery_node")
		}
		units := strings.Split(cell(2), ", ")
		for i, name := range quoted.FindAllStringSubmatch(cell(1), -1) {
			in := all[name[1]]
			if in == nil {
				t.Errorf("README.md lists %s, which nothing measures", name[1])
				continue
			}
			in.listed = true
			series := append(slices.Clone(labels), "instance", "job")
			if in.distributed {
				series = append(series, "le")
			}
			found[in.inPrometheus(name[1], units[min(i, len(units)-1)])] = series
		}
	}
	for name, in := range all {
		if !in.listed {
			t.Errorf("%s is measured, and README.md does not list it", name)
		}
	}
	return found
}

// attributes are the labels that a cell names before its explanation. A cell that begins with "and" adds to the labels of the cell above.
func attributes(cell string, before []string) []string {
	var labels []string
	if strings.HasPrefix(cell, "and ") {
		labels = slices.Clone(before)
	}
	names, _, _ := strings.Cut(cell, ":")
	said := word.FindAllString(names, -1)
	for key, short := range keys {
		if slices.Contains(said, short) {
			labels = append(labels, strings.ReplaceAll(key, ".", "_"))
		}
	}
	return labels
}

// inPrometheus is the name that Prometheus has for the instrument.
func (in *instrument) inPrometheus(name, unit string) string {
	name = strings.ReplaceAll(name, ".", "_")
	switch unit {
	case "s":
		name += "_seconds"
	case "By":
		name += "_bytes"
	case "%":
		name += "_percent"
	}
	if in.grows {
		name += "_total"
	}
	return name
}
