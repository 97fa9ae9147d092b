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
	"github.com/rookery-project/rookery/deploy/grafana/written"
)

// units are those that panels may have, by Grafana's names.
var units = []string{"short", "s", "bytes", "Bps", "percentunit", "ops"}

// TestScreensKeepTheRulesOfGrafana checks screens by the rules of Grafana's dashboard-linter. It leaves out the rules about the labels job
// and instance, because a screen shows the whole cluster, wherever its parts run.
func TestScreensKeepTheRulesOfGrafana(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range screens(t) {
		complain := func(rule, where, what string) { t.Errorf("%s, %s: %s (%s)", s.File, where, what, rule) }
		if seen[s.UID] || s.UID == "" || s.Title == "" || s.Description == "" {
			complain("uid", "screen", "it has no uid of its own, no title or no description")
		}
		seen[s.UID] = true
		if s.Editable {
			complain("uneditable-dashboard-rule", "screen", "it can be edited, which the next start would undo")
		}
		if !slices.Contains(s.Tags, "rookery") {
			complain("tags", "screen", "the links between screens do not find it")
		}
		lintVariables(s, complain)
		for _, p := range s.Panels {
			lintPanel(s, p, complain)
		}
		for _, a := range s.Annotations.List {
			if a.Datasource.UID != "$datasource" || a.Expr == "" {
				complain("annotation", a.Name, "it does not ask the Prometheus that is chosen")
			}
		}
		lintPlaces(s, complain)
	}
}

type complaint func(rule, where, what string)

func lintVariables(s written.Screen, complain complaint) {
	if len(s.Templating.List) == 0 || s.Templating.List[0].Name != "datasource" || s.Templating.List[0].Type != "datasource" ||
		s.Templating.List[0].Query != "prometheus" || s.Templating.List[0].Label == "" {
		complain("template-datasource-rule", "variables", "the first is not the choice of a Prometheus")
	}
	for _, v := range s.Templating.List {
		if v.Type != "query" {
			continue
		}
		if v.Refresh != 2 {
			complain("template-on-time-change-reload-rule", v.Name, "Grafana does not load its values again when the time range changes")
		}
		if v.Datasource.UID != "$datasource" || !v.IncludeAll || !v.Multi || v.AllValue != ".*" || v.Label == "" {
			complain("template-variable", v.Name, "it does not ask the Prometheus that is chosen, or All cannot be chosen")
		}
	}
}

func lintPanel(s written.Screen, p written.Panel, complain complaint) {
	if p.Title == "" || p.Description == "" {
		complain("panel-title-description-rule", p.Title, "it has no title or no description")
	}
	if p.Datasource.UID != "$datasource" || p.Datasource.Type != "prometheus" {
		complain("panel-datasource-rule", p.Title, "it does not ask the Prometheus that is chosen")
	}
	if !slices.Contains(units, p.FieldConfig.Defaults.Unit) {
		complain("panel-units-rule", p.Title, "its unit is "+p.FieldConfig.Defaults.Unit)
	}
	if len(p.Targets) == 0 || p.ID == 0 {
		complain("panel-no-targets-rule", p.Title, "it asks nothing, or has no id")
	}
	for i, q := range p.Targets {
		where := p.Title + ", " + q.RefID
		if q.RefID != string(rune('A'+i)) || q.Expr == "" || q.Datasource.UID != "$datasource" || q.Range == q.Instant {
			complain("target", where, "it does not query the chosen Prometheus")
		}
		if q.LegendFormat == "" {
			complain("target-legend", where, "it has no legend")
		}
		lintQuery(s, q.Expr, where, complain)
	}
}

var used = regexp.MustCompile(`\$\{?(\w+)`)

// lintQuery checks that a query uses only variables that exist, and that it takes rates over the step of Grafana, and only of counters.
func lintQuery(s written.Screen, expr, where string, complain complaint) {
	for _, v := range used.FindAllStringSubmatch(expr, -1) {
		if !strings.HasPrefix(v[1], "__") && !slices.Contains(s.VariableNames(), v[1]) {
			complain("variable", where, "the screen has no variable "+v[1])
		}
	}
	parsed, err := promql.ParseExpr(query.Expand(expr, map[string]string{
		"__rate_interval": rateInterval, "__interval": "2m", "__range": "1h", "namespace": ".*", "service": ".*", "node": ".*",
	}))
	if err != nil {
		complain("target-promql-rule", where, err.Error())
		return
	}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		call, ok := n.(*parser.Call)
		if !ok || (call.Func.Name != "rate" && call.Func.Name != "increase") {
			return nil
		}
		of := call.Args[0].(*parser.MatrixSelector)
		if call.Func.Name == "rate" && of.Range.String() != rateInterval {
			complain("target-rate-interval-rule", where, "it takes a rate over "+of.Range.String()+", not $__rate_interval")
		}
		name := of.VectorSelector.(*parser.VectorSelector).Name
		if !grows.MatchString(name) {
			complain("target-counter-agg-rule", where, name+" does not only grow")
		}
		return nil
	})
}

// grows are the names of counters.
var grows = regexp.MustCompile(`_(total|bucket|sum|count)$`)

// rateInterval is one that no query would name by itself.
const rateInterval = "11m13s"

// lintPlaces checks that panels lie within the width and do not overlap.
func lintPlaces(s written.Screen, complain complaint) {
	taken := map[[2]int]string{}
	ids := map[uint32]bool{}
	for _, p := range s.Panels {
		if ids[p.ID] {
			complain("panel-id", p.Title, "its id is another one's")
		}
		ids[p.ID] = true
		if p.GridPos.W == 0 || p.GridPos.H == 0 || p.GridPos.X+p.GridPos.W > 24 {
			complain("grid", p.Title, "it does not lie on the screen")
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					complain("grid", p.Title, "it lies over "+other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

var (
	command = regexp.MustCompile(`\brookery ([a-z-]+)`)
	use     = regexp.MustCompile(`\bUse:\s+"([a-z-]+)`)
)

// commands are those of the program, read from its source.
func commands(t *testing.T) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob("../../../cmd/rookery/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range use.FindAllStringSubmatch(string(source), -1) {
			found[c[1]] = true
		}
	}
	return found
}

// TestAlertsSayWhatToDo checks that every rule tells the alerted operator what to do.
func TestAlertsSayWhatToDo(t *testing.T) {
	all, known := rules(t), commands(t)
	if len(all) != 11 {
		t.Errorf("there are %d rules", len(all))
	}
	for _, r := range all {
		if !strings.HasPrefix(r.Alert, "Rookery") {
			t.Errorf("%s: its name does not begin with Rookery, and the screens do not show it", r.Alert)
		}
		if r.For == 0 || (r.Labels["severity"] != "critical" && r.Labels["severity"] != "warning") {
			t.Errorf("%s: it fires at once, or with the severity %q", r.Alert, r.Labels["severity"])
		}
		for _, about := range []string{"summary", "description", "runbook"} {
			if r.Annotations[about] == "" {
				t.Errorf("%s: it has no %s", r.Alert, about)
			}
		}
		if !strings.HasPrefix(r.Annotations["runbook"], "1. ") {
			t.Errorf("%s: its runbook has no steps", r.Alert)
		}
		typed := command.FindAllStringSubmatch(r.Annotations["runbook"], -1)
		if len(typed) == 0 {
			t.Errorf("%s: its runbook has no command to type", r.Alert)
		}
		for _, c := range typed {
			if !known[c[1]] {
				t.Errorf("%s: its runbook says %q, and there is no such command", r.Alert, c[0])
			}
		}
	}
}
