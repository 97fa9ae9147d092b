package pictures

import (
	"fmt"

	"github.com/rookery-project/rookery/deploy/grafana/written"
)

// Parts of a legend.
const (
	legendRow   = 18
	legendRows  = 5 // with the one that says what stands below it
	legendMark  = 22
	legendSpace = 14 // between figures
	legendGap   = 28
)

// legend names series, with the last and the greatest value of each, in columns.
type legend struct {
	box
	columns, rows int
	column        int // the width of one, with the gap behind it
	figure        int // the width of one, with the space before it
	named         []series
	more          int // series without a place
}

// legendOf lays out the legend at the bottom of a box, in as many columns as the names leave room for. It takes at most half of the height.
// If not all series fit, it shows the greatest.
func legendOf(c canvas, b box, drawn []series, whole int, looks written.Looks) legend {
	name, figure := 0, c.width("last", small)
	for _, s := range drawn {
		name = max(name, c.width(s.name, small))
		last, greatest := s.figures(looks)
		figure = max(figure, c.width(last, small), c.width(greatest, small))
	}
	l := legend{figure: figure + legendSpace}
	needed := legendMark + name + 2*l.figure + legendGap
	l.columns = min(len(drawn), max(1, (b.w+legendGap)/needed))
	l.column = min((b.w+legendGap)/l.columns, needed+legendGap)
	most := min(legendRows, b.h/2/legendRow) - 1
	l.rows = min(max(1, most), (whole+l.columns-1)/l.columns)
	l.named = drawn
	if room := l.rows * l.columns; whole > room {
		l.named = foremost(drawn, room-1)
	}
	l.more = whole - len(l.named)
	height := (1 + l.rows) * legendRow
	l.box = box{b.x, b.y + b.h - height, b.w, height}
	return l
}

// figures are what a legend says of the series.
func (s series) figures(l written.Looks) (last, greatest string) {
	return tell(l.Unit, l.Decimals, s.last()), tell(l.Unit, l.Decimals, s.greatest())
}

// line is the place of the i-th series.
func (l legend) line(i int) box {
	return box{l.x + i/l.rows*l.column, l.y + (1+i%l.rows)*legendRow, l.column - legendGap, legendRow}
}

func (l legend) draw(c canvas, looks written.Looks) {
	for i, s := range l.named {
		line := l.line(i)
		if i%l.rows == 0 {
			l.figures(c, "last", "max", dim, box{line.x, l.y, line.w, legendRow})
		}
		c.fill(box{line.x, line.y + 7, 14, 4}, s.ink)
		c.left(s.name, small, bright, line.inner(legendMark, 0, 2*l.figure, 0))
		last, greatest := s.figures(looks)
		l.figures(c, last, greatest, bright, line)
	}
	if l.more > 0 {
		c.left(fmt.Sprintf("and %d more", l.more), small, dim, l.line(len(l.named)).inner(legendMark, 0, 0, 0))
	}
}

func (l legend) figures(c canvas, last, greatest string, i ink, line box) {
	c.right(last, small, i, line.inner(0, 0, l.figure, 0))
	c.right(greatest, small, i, line)
}
