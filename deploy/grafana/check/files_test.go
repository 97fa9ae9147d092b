package check_test

import (
	"log/slog"
	"os"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/rookery-project/rookery/deploy/grafana/written"
)

// screens reads all dashboards.
func screens(t *testing.T) []written.Screen {
	t.Helper()
	all, err := written.Screens(os.DirFS(".."))
	if err != nil || len(all) != 5 {
		t.Fatalf("there are %d screens, not 5: %v", len(all), err)
	}
	return all
}

var promql = parser.NewParser(parser.Options{})

// rules reads the alert rules as Prometheus does.
func rules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile("../rules.yaml", false, model.LegacyValidation, promql, slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil {
		t.FailNow()
	}
	var all []rulefmt.Rule
	for _, g := range groups.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// queries returns those of all panels, variables, annotations and rules, as they stand in the files.
func queries(t *testing.T) []written.Query {
	t.Helper()
	var all []written.Query
	for _, s := range screens(t) {
		of, err := s.Queries()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, of...)
	}
	for _, r := range rules(t) {
		all = append(all, written.Query{Where: "rules.yaml, " + r.Alert, Expr: r.Expr})
	}
	return all
}
