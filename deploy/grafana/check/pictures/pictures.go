// Package pictures draws screens without Grafana, so that a developer can look at the result of a test:
//
//	screen → Draw, which asks Prometheus → answers → Paint → a PNG, and the panels that have nothing to show
//
// Panels lie where Grafana puts them. Values have the units, colours and names that the JSON of the screen gives them. Pictures leave out
// the interactive parts of a screen, its links and menus.
package pictures

import (
	"context"
	"fmt"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/rookery-project/rookery/deploy/grafana/query"
	"github.com/rookery-project/rookery/deploy/grafana/written"
)

// Picture is a screen as it looks.
type Picture struct {
	Width, Height int
	// Empty are the titles of the panels that have nothing to show.
	Empty []string

	canvas canvas
}

// PNG returns the picture as a file that any viewer opens. Encoding takes longer than drawing.
func (p Picture) PNG() ([]byte, error) { return p.canvas.p.Bytes() }

// Answers are what Prometheus says to a screen's queries.
type Answers struct {
	// Panels has for each panel of the screen the answers to its targets, both in their order.
	Panels [][]model.Value
	// Annotations has the answers to the screen's annotations, in their order.
	Annotations []model.Value
}

// Draw asks Prometheus the screen's queries, with these values of variables, and paints the answers. The variable __interval is the step
// of what is asked over time, as in Grafana.
func Draw(ctx context.Context, ask promv1.API, s written.Screen, vars map[string]string, from, to time.Time) (Picture, error) {
	step, err := model.ParseDuration(vars["__interval"])
	if err != nil {
		return Picture{}, fmt.Errorf("the variable __interval, which is the step between points: %w", err)
	}
	shown := promv1.Range{Start: from, End: to, Step: time.Duration(step)}
	var said Answers
	for _, p := range s.Panels {
		answers := make([]model.Value, len(p.Targets))
		for i, t := range p.Targets {
			expr := query.Expand(t.Expr, vars)
			if t.Instant {
				answers[i], _, _, err = ask.Query(ctx, expr, to)
			} else {
				answers[i], _, _, err = ask.QueryRange(ctx, expr, shown)
			}
			if err != nil {
				return Picture{}, fmt.Errorf("%s, %s, %s: %w", s.File, p.Title, t.RefID, err)
			}
		}
		said.Panels = append(said.Panels, answers)
	}
	for _, a := range s.Annotations.List {
		marks, _, _, err := ask.QueryRange(ctx, query.Expand(a.Expr, vars), shown)
		if err != nil {
			return Picture{}, fmt.Errorf("%s, annotation %s: %w", s.File, a.Name, err)
		}
		said.Annotations = append(said.Annotations, marks)
	}
	return Paint(s, said, shown)
}
