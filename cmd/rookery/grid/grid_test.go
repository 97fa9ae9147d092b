package grid_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
)

func instances() grid.Table {
	row := func(cells ...string) grid.Row {
		r := grid.Row{Key: cells[0] + "/" + cells[1]}
		for _, c := range cells {
			r.Cells = append(r.Cells, grid.Plain(c))
		}
		r.Cells[4].Mood = grid.Good
		return r
	}
	return grid.Table{
		Columns: []grid.Column{
			{Head: "SERVICE"},
			{Head: "ORDINAL"},
			{Head: "GENERATION", Keep: grid.Detail},
			{Head: "NODE", Keep: grid.Useful},
			{Head: "STATUS", Least: 20},
			{Head: "ADDRESSES", Keep: grid.Useful, Least: 12},
			{Head: "RESTARTS", Keep: grid.Detail},
			{Head: "REVISION", Keep: grid.Wide},
		},
		Rows: []grid.Row{
			row("demo/web", "0", "1", "edge-1", "online", "http=10.0.0.1:20000", "0", "7"),
			row("demo/web", "1", "12", "edge-2", "offline (exited with 3)", "http=10.0.0.2:20000 admin=10.0.0.2:20001", "5", "7"),
		},
	}
}

// TestColumnsGoInOrder narrows the screen until only the Always columns remain.
func TestColumnsGoInOrder(t *testing.T) {
	for _, row := range []struct {
		width int
		want  string
	}{
		{0, `
SERVICE   ORDINAL  GENERATION  NODE    STATUS                   ADDRESSES                                 RESTARTS
demo/web  0        1           edge-1  online                   http=10.0.0.1:20000                       0
demo/web  1        12          edge-2  offline (exited with 3)  http=10.0.0.2:20000 admin=10.0.0.2:20001  5`},
		{100, `
SERVICE   ORDINAL  GENERATION  NODE    STATUS                   ADDRESSES                   RESTARTS
demo/web  0        1           edge-1  online                   http=10.0.0.1:20000         0
demo/web  1        12          edge-2  offline (exited with 3)  http=10.0.0.2:20000 admin…  5`},
		{80, `
SERVICE   ORDINAL  GENERATION  NODE    STATUS                   ADDRESSES
demo/web  0        1           edge-1  online                   http=10.0.0.1:2…
demo/web  1        12          edge-2  offline (exited with 3)  http=10.0.0.2:2…`},
		{70, `
SERVICE   ORDINAL  NODE    STATUS                   ADDRESSES
demo/web  0        edge-1  online                   http=10.0.0.1:200…
demo/web  1        edge-2  offline (exited with 3)  http=10.0.0.2:200…`},
		{50, `
SERVICE   ORDINAL  NODE    STATUS
demo/web  0        edge-1  online
demo/web  1        edge-2  offline (exited with 3)`},
		{30, `
SERVICE   ORDINAL  STATUS
demo/web  0        online
demo/web  1        offline (e…`},
		{10, `
SE…ICE  OR
de…web  0
de…web  1`},
	} {
		if got := "\n" + strings.Join(instances().Lines(grid.Style{Width: row.width}), "\n"); got != row.want {
			t.Errorf("at %d columns:%s\nwant:%s", row.width, got, row.want)
		}
	}
	wide := instances().Lines(grid.Style{Width: 20, All: true})
	if !strings.HasSuffix(wide[0], "RESTARTS  REVISION") || !strings.HasSuffix(wide[2], "admin=10.0.0.2:20001  5         7") {
		t.Errorf("all that there is, is:\n%s", strings.Join(wide, "\n"))
	}
}

// TestNoLineIsWiderThanTheScreen lays out texts of many kinds, with wide characters and control characters.
func TestNoLineIsWiderThanTheScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keeps := []grid.Keep{grid.Always, grid.Useful, grid.Detail, grid.Wide}
		var of grid.Table
		for range rapid.IntRange(1, 8).Draw(t, "columns") {
			of.Columns = append(of.Columns, grid.Column{
				Head: rapid.StringMatching(`[A-Z]{0,9}`).Draw(t, "head"),
				Keep: rapid.SampledFrom(keeps).Draw(t, "keep"), Least: rapid.IntRange(0, 20).Draw(t, "least"),
			})
		}
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			var r grid.Row
			for range of.Columns {
				text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z漢字\x1b\n\[0-9m ]{0,60}`)).Draw(t, "text")
				r.Cells = append(r.Cells, grid.Cell{Text: text, Mood: grid.Mood(rapid.IntRange(0, 4).Draw(t, "mood"))})
			}
			of.Rows = append(of.Rows, r)
		}
		width := rapid.IntRange(1, 200).Draw(t, "width")
		for _, colour := range []bool{false, true} {
			lines := of.Lines(grid.Style{Width: width, Colour: colour})
			if len(lines) != len(of.Rows)+1 {
				t.Fatalf("%d rows have %d lines", len(of.Rows), len(lines))
			}
			for _, line := range lines {
				if w := ansi.StringWidth(line); w > width || strings.ContainsAny(line, "\n\r\t") || (!colour && strings.Contains(line, "\x1b")) {
					t.Fatalf("a line of %d cells on a screen of %d: %q", w, width, line)
				}
			}
		}
	})
}

// TestColoursAreReadOnDarkAndLight computes the contrast of each colour as WCAG does.
func TestColoursAreReadOnDarkAndLight(t *testing.T) {
	for _, m := range []grid.Mood{grid.Good, grid.Changing, grid.Bad, grid.Quiet} {
		text := m.Paint("x")
		index := 0
		for _, digit := range strings.TrimSuffix(strings.TrimPrefix(text, "\x1b[38;5;"), "mx\x1b[39m") {
			index = index*10 + int(digit-'0')
		}
		l := luminance(index)
		if dark, light := (l+0.05)/0.05, 1.05/(l+0.05); dark < 3.8 || light < 3.8 {
			t.Errorf("colour %d has contrast %.1f on black and %.1f on white", index, dark, light)
		}
	}
	if grid.Neutral.Paint("x") != "x" {
		t.Error("what has no mood has a colour")
	}
}

// luminance returns the luminance of a colour of the 6×6×6 cube, or of the greys behind it.
func luminance(index int) float64 {
	levels := []float64{0, 95, 135, 175, 215, 255}
	channels := make([]float64, 3)
	if index >= 232 {
		grey := float64(8 + 10*(index-232))
		channels = []float64{grey, grey, grey}
	} else {
		for i, part := range []int{36, 6, 1} {
			channels[i] = levels[(index-16)/part%6]
		}
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := channels[i] / 255
		if c <= 0.03928 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}

func TestLongTextsAreFolded(t *testing.T) {
	const text = "13:53:45.587  demo/web  instance.pending 0: of 3 nodes 2 with too little memory left, 1 silent"
	if got := grid.Fold(text, 0, 14); !slices.Equal(got, []string{text}) {
		t.Errorf("without a screen it is %q", got)
	}
	want := []string{
		"13:53:45.587  demo/web  instance.pending 0: of 3",
		"              nodes 2 with too little memory left,",
		"              1 silent",
	}
	if got := grid.Fold(text, 50, 14); !slices.Equal(got, want) {
		t.Errorf("it is folded to\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	rapid.Check(t, func(t *rapid.T) {
		text, width := rapid.String().Draw(t, "text"), rapid.IntRange(4, 90).Draw(t, "width")
		for _, line := range grid.Fold(text, width, rapid.IntRange(0, 30).Draw(t, "below")) {
			if ansi.StringWidth(line) > width {
				t.Fatalf("%q is wider than %d", line, width)
			}
		}
	})
}
