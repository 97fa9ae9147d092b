package pictures

import (
	"image/color"

	"github.com/go-analyze/charts"
)

// canvas is what is drawn on. Sizes are in pixels, also those of text.
type canvas struct{ p *charts.Painter }

// box is a part of the canvas.
type box struct{ x, y, w, h int }

func (b box) inner(left, top, right, bottom int) box {
	return box{b.x + left, b.y + top, b.w - left - right, b.h - top - bottom}
}

// point is a place on the canvas.
type point = charts.Point

// ink is a colour.
type ink = charts.Color

// Sizes of text.
const (
	small  = 12
	medium = 14
	large  = 20
)

// pointsPerPixel are typographic points, at the resolution at which the library draws text.
const pointsPerPixel = 72.0 / 92

func newCanvas(width, height int) canvas {
	c := canvas{charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputPNG, Width: width, Height: height})}
	c.fill(box{0, 0, width, height}, ground)
	return c
}

func (c canvas) fill(b box, i ink) {
	if b.w > 0 && b.h > 0 {
		c.p.FilledRect(b.x, b.y, b.x+b.w, b.y+b.h, i, i, 0)
	}
}

// line joins points.
func (c canvas) line(i ink, width float64, points ...point) { c.p.LineStroke(points, i, width) }

// area fills what the points enclose.
func (c canvas) area(i ink, points ...point) { c.p.FillArea(points, i) }

func style(size int, i ink) charts.FontStyle {
	return charts.FontStyle{FontSize: float64(size) * pointsPerPixel, FontColor: i}
}

// width is that of a text.
func (c canvas) width(text string, size int) int {
	return c.p.MeasureText(text, 0, style(size, bright)).Width()
}

// fit shortens a text that is too wide.
func (c canvas) fit(text string, size, width int) string {
	if c.width(text, size) <= width {
		return text
	}
	letters := []rune(text)
	least, most := 0, len(letters)-1
	for least < most {
		middle := (least + most + 1) / 2
		if c.width(string(letters[:middle])+"…", size) <= width {
			least = middle
		} else {
			most = middle - 1
		}
	}
	return string(letters[:least]) + "…"
}

// left writes a text from the left of the box on, in the middle of its height.
func (c canvas) left(text string, size int, i ink, b box) {
	text = c.fit(text, size, b.w)
	c.p.Text(text, b.x, baseline(b, size), 0, style(size, i))
}

// right writes a text up to the right of the box.
func (c canvas) right(text string, size int, i ink, b box) {
	text = c.fit(text, size, b.w)
	c.p.Text(text, b.x+b.w-c.width(text, size), baseline(b, size), 0, style(size, i))
}

// centre writes a text in the middle of the box.
func (c canvas) centre(text string, size int, i ink, b box) {
	text = c.fit(text, size, b.w)
	c.p.Text(text, b.x+(b.w-c.width(text, size))/2, baseline(b, size), 0, style(size, i))
}

// baseline is where letters stand for which the middle of the box is that of a capital.
func baseline(b box, size int) int { return b.y + (b.h+size*7/10)/2 }

// faint lets through what is behind.
func faint(i ink, opacity float64) ink { return i.WithAlpha(uint8(opacity * 255)) }

func rgb(hex uint32) ink {
	return charts.ColorConvertGo(color.RGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 255})
}
