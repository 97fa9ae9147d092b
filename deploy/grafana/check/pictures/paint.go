package pictures

import (
	"fmt"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/rookery-project/rookery/deploy/grafana/written"
)

// The grid of 24 columns, in pixels.
const (
	margin = 12
	column = 74
	row    = 38
	gap    = 8
	header = 64
)

const pictureWidth = 24*column + 2*margin

// place is where a panel lies.
func place(p written.Panel) box {
	g := p.GridPos
	return box{margin + gap/2 + g.X*column, header + g.Y*row, g.W*column - gap, g.H*row - gap}
}

// size is that of the whole screen.
func size(s written.Screen) (width, height int) {
	for _, p := range s.Panels {
		b := place(p)
		height = max(height, b.y+b.h+margin)
	}
	return pictureWidth, height
}

// sheets are the functions that draw a panel, by its type. A sheet that has nothing to show draws nothing and returns false.
var sheets = map[string]func(canvas, box, panel) (drawn bool){
	"stat": stat, "timeseries": timeseries, "bargauge": bargauge, "table": table,
}

// panel is what is drawn on a sheet.
type panel struct {
	written.Panel
	said  []model.Value
	shown promv1.Range
	marks []mark
	// overridden are the looks of fields that differ from those of the panel, by their titles.
	overridden map[string]looks
}

// Paint draws a screen from the answers, as of the time that is shown. The same answers give the same picture.
func Paint(s written.Screen, said Answers, shown promv1.Range) (Picture, error) {
	width, height := size(s)
	c := newCanvas(width, height)
	title := box{margin + gap, 8, pictureWidth - 2*margin - 2*gap, 28}
	c.left(s.Title, large, bright, title)
	span := shown.Start.Format("2006-01-02 15:04:05") + " to " + shown.End.Format("15:04:05 MST")
	c.right(span, medium, dim, title)
	c.left(s.Description, medium, dim, box{title.x, 34, title.w, 22})
	marks := marksOf(s, said, shown)
	var empty []string
	for i, p := range s.Panels {
		draw, known := sheets[p.Type]
		if !known {
			return Picture{}, fmt.Errorf("%s, %s: panel type %q is not supported: add it to sheets", s.File, p.Title, p.Type)
		}
		overridden, err := overriddenBy(p)
		if err != nil {
			return Picture{}, fmt.Errorf("%s, %s: %w", s.File, p.Title, err)
		}
		b := place(p)
		c.frame(p, b)
		if !draw(c, b.inner(12, 32, 12, 8), panel{p, said.Panels[i], shown, marks, overridden}) {
			empty = append(empty, p.Title)
			c.nothing(p, b)
		}
	}
	return Picture{width, height, empty, c}, nil
}

// frame is what all panels have.
func (c canvas) frame(p written.Panel, b box) {
	c.fill(b, rule)
	c.fill(b.inner(1, 1, 1, 1), sheet)
	c.left(p.Title, medium, bright, box{b.x + 12, b.y + 4, b.w - 24, 24})
}

// nothing says that there is nothing to show.
func (c canvas) nothing(p written.Panel, b box) {
	c.centre(orNoData(p), medium, dim, b)
}

func orNoData(p written.Panel) string {
	if text := p.FieldConfig.Defaults.NoValue; text != "" {
		return text
	}
	return "No data"
}
