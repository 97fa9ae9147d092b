package check_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// screen is what is checked of a dashboard in Grafana's JSON.
type screen struct {
	file          string
	UID           string   `json:"uid"`
	Title         string   `json:"title"`
	Description   string   `json:"description"`
	Tags          []string `json:"tags"`
	Editable      bool     `json:"editable"`
	SchemaVersion int      `json:"schemaVersion"`
	Time          struct{ From, To string }
	Panels        []panel `json:"panels"`
	Templating    struct {
		List []variable `json:"list"`
	} `json:"templating"`
	Annotations struct {
		List []annotation `json:"list"`
	} `json:"annotations"`
}

type source struct{ Type, UID string }

type panel struct {
	ID                       uint32
	Type, Title, Description string
	Datasource               source
	Targets                  []target
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct {
		Defaults struct{ Unit string }
	}
}

type target struct {
	RefID, Expr, LegendFormat string
	Datasource                source
	Range, Instant            bool
}

type variable struct {
	Name, Label, Type string
	Query             any
	Datasource        source
	IncludeAll, Multi bool
	AllValue          string
	Refresh           int
}

type annotation struct {
	Name, Expr string
	Datasource source
}

// screens reads all dashboards.
func screens(t *testing.T) []screen {
	t.Helper()
	paths, err := filepath.Glob("../*.json")
	if err != nil || len(paths) != 5 {
		t.Fatalf("there are %d screens, not 5: %v", len(paths), err)
	}
	var all []screen
	for _, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s := screen{file: filepath.Base(path)}
		if err := json.Unmarshal(body, &s); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, s)
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

// asked is a query and where it stands.
type asked struct{ where, expr string }

// queries returns those of all panels, variables, annotations and rules, as they stand in the files.
func queries(t *testing.T) []asked {
	t.Helper()
	var all []asked
	for _, s := range screens(t) {
		for _, p := range s.Panels {
			for _, q := range p.Targets {
				all = append(all, asked{s.file + ", " + p.Title + ", " + q.RefID, q.Expr})
			}
		}
		for _, v := range s.Templating.List {
			if v.Type == "query" {
				all = append(all, asked{s.file + ", variable " + v.Name, selected(t, v)})
			}
		}
		for _, a := range s.Annotations.List {
			all = append(all, asked{s.file + ", annotation " + a.Name, a.Expr})
		}
	}
	for _, r := range rules(t) {
		all = append(all, asked{"rules.yaml, " + r.Alert, r.Expr})
	}
	return all
}

// selected is the query that label_values(series, label) makes: the series, told apart by the label.
func selected(t *testing.T, v variable) string {
	t.Helper()
	text, _ := v.Query.(string)
	inner, ok := strings.CutPrefix(text, "label_values(")
	comma := strings.LastIndex(inner, ",")
	if !ok || comma < 0 || !strings.HasSuffix(inner, ")") {
		t.Fatalf("the variable %s asks %q, not for values of a label", v.Name, text)
	}
	return "count by (" + strings.TrimSpace(inner[comma+1:len(inner)-1]) + ") (" + inner[:comma] + ")"
}

// variableNames are those that a screen has.
func (s screen) variableNames() []string {
	var names []string
	for _, v := range s.Templating.List {
		names = append(names, v.Name)
	}
	slices.Sort(names)
	return names
}
