// Package written reads the screens as Grafana does: from the JSON of their files, however that was made. The programs that check, run or
// draw the queries of the files start here:
//
//	fleet.json → Screen → Panels, Variables, Annotations → their queries
//
// It has the fields of the JSON that these programs read, and leaves out the others.
package written

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Screen is a dashboard in Grafana's JSON.
type Screen struct {
	File          string `json:"-"`
	UID           string
	Title         string
	Description   string
	Tags          []string
	Editable      bool
	SchemaVersion int
	Time          struct{ From, To string }
	Panels        []Panel
	Templating    struct{ List []Variable }
	Annotations   struct{ List []Annotation }
}

// Source is what is asked: a kind of database, and which.
type Source struct{ Type, UID string }

// Place is where a panel lies on the grid of 24 columns.
type Place struct{ X, Y, W, H int }

// Panel is one figure, chart or table.
type Panel struct {
	ID                       uint32
	Type, Title, Description string
	Datasource               Source
	Targets                  []Target
	GridPos                  Place
	FieldConfig              struct {
		Defaults  Looks
		Overrides []Override
	}
	Transformations []Transformation
}

// Looks are how a panel's values are shown. Without Decimals, Min and Max they follow from the values.
type Looks struct {
	Unit, NoValue string
	Decimals      *int
	Min, Max      *float64
	Thresholds    Thresholds
	Custom        struct {
		DrawStyle, AxisLabel string
		FillOpacity          float64
		Stacking             struct{ Mode string }
	}
}

// Thresholds are colours by the least value that has them, in order. The first is that of all values below the others.
type Thresholds struct{ Steps []Step }

// Step is a colour, by the name that Grafana has for it.
type Step struct {
	Value *float64
	Color string
}

// Override changes how the fields look that it matches.
type Override struct {
	Matcher    struct{ ID, Options string }
	Properties []struct {
		ID    string
		Value json.RawMessage
	}
}

// Transformation is done to a panel's data before it is shown.
type Transformation struct {
	ID      string
	Options struct {
		RenameByName  map[string]string
		IndexByName   map[string]int
		ExcludeByName map[string]bool
	}
}

// Target is a query of a panel: of now where it is Instant, and of the time that is shown where it is a Range.
type Target struct {
	RefID, Expr, LegendFormat string
	Datasource                Source
	Range, Instant            bool
}

// Variable is a choice at the top of a screen.
type Variable struct {
	Name, Label, Type string
	Query             any
	Datasource        Source
	IncludeAll, Multi bool
	AllValue          string
	Refresh           int
}

// Annotation marks times in all charts of a screen.
type Annotation struct {
	Name, Expr, IconColor string
	Datasource            Source
}

// Screens reads all dashboards of a folder, in the order of their names. An error names the file.
func Screens(folder fs.FS) ([]Screen, error) {
	names, err := fs.Glob(folder, "*.json")
	if err != nil {
		return nil, err
	}
	var all []Screen
	for _, name := range names {
		body, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		s := Screen{File: name}
		if err := json.Unmarshal(body, &s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// Query is one, as it stands in a file, and where it stands, which no other one does.
type Query struct{ Where, Expr string }

// Queries returns those of a screen's panels, variables and annotations. It fails where a variable does not ask for the values of a label.
func (s Screen) Queries() ([]Query, error) {
	var all []Query
	for _, p := range s.Panels {
		for _, t := range p.Targets {
			all = append(all, Query{s.File + ", " + p.Title + ", " + t.RefID, t.Expr})
		}
	}
	for _, v := range s.Templating.List {
		if v.Type != "query" {
			continue
		}
		expr, err := v.selected()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.File, err)
		}
		all = append(all, Query{s.File + ", variable " + v.Name, expr})
	}
	for _, a := range s.Annotations.List {
		all = append(all, Query{s.File + ", annotation " + a.Name, a.Expr})
	}
	return all, nil
}

// selected is the query that label_values(series, label) makes: the series, told apart by the label.
func (v Variable) selected() (string, error) {
	text, _ := v.Query.(string)
	inner, ok := strings.CutPrefix(text, "label_values(")
	comma := strings.LastIndex(inner, ",")
	if !ok || comma < 0 || !strings.HasSuffix(inner, ")") {
		return "", fmt.Errorf("the variable %s asks %q, not for values of a label", v.Name, text)
	}
	return "count by (" + strings.TrimSpace(inner[comma+1:len(inner)-1]) + ") (" + inner[:comma] + ")", nil
}

// VariableNames returns the names of all variables, sorted.
func (s Screen) VariableNames() []string {
	var names []string
	for _, v := range s.Templating.List {
		names = append(names, v.Name)
	}
	slices.Sort(names)
	return names
}
