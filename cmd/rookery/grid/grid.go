// Package grid lays rows out in columns for people to read. It is pure: it is told how wide the screen is and whether it has
// colours, and returns lines.
//
// What is left out where there is no room is decided here alone, by what each column says of itself:
//
//  1. Nothing is left out where all fits, where it is no terminal (Style.Width is 0), and where all is asked for (Style.All).
//  2. Columns without any text go.
//  3. Columns that are a Detail go, the last one first, as long as the others do not fit with texts cut to their Least.
//  4. Then those that are Useful go in the same way.
//  5. What room is left goes to texts, the shortest first. They are cut at their end.
//  6. Where what must Always be there does not fit, the longest of it is cut in its middle, one cell after the other, and at last
//     the line at its end: no line is ever wider than the screen.
//  7. What is cut or gone and must not be missed (Column.Whole) is said below the table: see Untold.
package grid

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Keep says how long a column stays where there is no room for all.
type Keep int

// The ways to keep a column.
const (
	Always Keep = iota // what a row is about, and how it is
	Useful             // what people would miss
	Detail             // what they would look up
	Wide               // what is shown only where all is asked for
)

// Column is a column of a table.
type Column struct {
	Head string
	Keep Keep
	// Least is the width below which a text is not cut at its end as long as other columns can go; 0 for what is no text and is never
	// cut so.
	Least int
	// Whole says that people must not miss any of it.
	Whole bool
	// Passing says that it changes as time passes, and with nothing else.
	Passing bool
}

// Cell is what a row has in a column.
type Cell struct {
	Text string
	Mood Mood
}

// Plain returns a cell without a mood.
func Plain(text string) Cell { return Cell{Text: text} }

// Row is a row; its Key tells it from all others.
type Row struct {
	Key   string
	Cells []Cell
}

// Table is what is to be laid out. Every row has a cell for each column.
type Table struct {
	Columns []Column
	Rows    []Row
}

// Style is what it is laid out for.
type Style struct {
	// Width is that of the screen in cells; 0 where it is no screen: then nothing is cut.
	Width int
	// Colour says that moods are shown.
	Colour bool
	// All has all columns be shown whole.
	All bool
}

const gap = 2

// least is the width below which not even a name is cut in its middle.
const least = 6

// Lines returns the head and the rows, each as a line.
func (t Table) Lines(s Style) []string {
	l := t.layout(s)
	lines := make([]string, 0, len(t.Rows)+1)
	lines = append(lines, l.line(t, Row{Cells: t.head()}, s))
	for _, r := range t.Rows {
		lines = append(lines, l.line(t, r, s))
	}
	return lines
}

// Told returns what a row tells in the columns that are shown where there is room for all, without what passes by itself: a row that
// tells the same has not changed.
func (t Table) Told(r Row, s Style) string {
	var told []string
	for i, c := range t.Columns {
		if !c.Passing && (c.Keep != Wide || s.All) {
			told = append(told, r.Cells[i].Text)
		}
	}
	return strings.Join(told, "\x00")
}

// Untold returns what must not be missed and the lines do not have whole, a text once: which row has it, how many others do, and
// the text.
func (t Table) Untold(s Style) []string {
	const most = 5
	l := t.layout(s)
	var texts []string
	of := map[string][]string{} // the keys of the rows that have the text
	for _, r := range t.Rows {
		for i, c := range t.Columns {
			text := clean(r.Cells[i].Text)
			if !c.Whole || text == "" || (slices.Contains(l.columns, i) && width(text) <= l.widths[i]) {
				continue
			}
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], r.Key)
		}
	}
	var said []string
	for _, text := range texts[:min(most, len(texts))] {
		line := of[text][0]
		if others := len(of[text]) - 1; others > 0 {
			line += fmt.Sprintf(" and %d more", others)
		}
		said = append(said, line+": "+text)
	}
	if len(texts) > most {
		said = append(said, fmt.Sprintf("and %d more: see --output wide", len(texts)-most))
	}
	return said
}

func (t Table) head() []Cell {
	cells := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		cells[i] = Plain(c.Head)
	}
	return cells
}

// layout says which columns are shown, and how wide each is.
type layout struct {
	columns []int
	widths  []int // by column
}

func (t Table) layout(s Style) *layout {
	l := &layout{widths: t.natural()}
	for i, c := range t.Columns {
		if c.Keep != Wide || s.All {
			l.columns = append(l.columns, i)
		}
	}
	if s.Width == 0 || s.All || l.sum(l.widths) <= s.Width {
		return l
	}
	l.columns = slices.DeleteFunc(l.columns, t.empty)
	short := slices.Clone(l.widths)
	for i, c := range t.Columns {
		if c.Least > 0 {
			short[i] = min(l.widths[i], max(c.Least, width(c.Head)))
		}
	}
	for _, keep := range []Keep{Detail, Useful} {
		for at := len(l.columns) - 1; at >= 0 && l.sum(short) > s.Width; at-- {
			if t.Columns[l.columns[at]].Keep == keep {
				l.columns = slices.Delete(l.columns, at, at+1)
			}
		}
	}
	l.spread(short, s.Width-l.sum(short))
	l.squeeze(s.Width)
	return l
}

// spread gives room to what was made short, the least lack first, so that as many texts as possible are whole.
func (l *layout) spread(short []int, room int) {
	lacking := slices.Clone(l.columns)
	slices.SortStableFunc(lacking, func(a, b int) int { return (l.widths[a] - short[a]) - (l.widths[b] - short[b]) })
	for n, i := range lacking {
		if more := min(l.widths[i]-short[i], max(room, 0)/(len(lacking)-n)); more > 0 {
			short[i] += more
			room -= more
		}
	}
	l.widths = short
}

// squeeze takes from the widest what is still too much.
func (l *layout) squeeze(screen int) {
	for l.sum(l.widths) > screen {
		widest := slices.MaxFunc(l.columns, func(a, b int) int { return l.widths[a] - l.widths[b] })
		if l.widths[widest] <= least {
			return
		}
		l.widths[widest]--
	}
}

func (l *layout) sum(widths []int) int {
	total := -gap
	for _, i := range l.columns {
		total += widths[i] + gap
	}
	return total
}

// natural returns the width of each column in which nothing of it is cut.
func (t Table) natural() []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = width(c.Head)
		for _, r := range t.Rows {
			widths[i] = max(widths[i], width(clean(r.Cells[i].Text)))
		}
	}
	return widths
}

func (t Table) empty(column int) bool {
	return !slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Cells[column].Text != "" })
}

func (l *layout) line(t Table, r Row, s Style) string {
	var b strings.Builder
	room := 0
	for _, i := range l.columns {
		text := clean(r.Cells[i].Text)
		if width(text) > l.widths[i] && s.Width > 0 {
			text = cut(text, l.widths[i], t.Columns[i].Least > 0)
		}
		if text != "" {
			b.WriteString(strings.Repeat(" ", room))
			room = 0
			b.WriteString(painted(text, r.Cells[i].Mood, s))
		}
		room += max(0, l.widths[i]-width(text)) + gap
	}
	if s.Width > 0 && !s.All {
		return strings.TrimRight(ansi.Truncate(b.String(), s.Width, ""), " ")
	}
	return b.String()
}

func painted(text string, m Mood, s Style) string {
	if !s.Colour {
		return text
	}
	return m.Paint(text)
}

func width(text string) int { return ansi.StringWidth(text) }

// Cut returns the text in no more than this many cells, without its end where it is longer, and without what would move a
// terminal's cursor.
func Cut(text string, most int) string { return cut(clean(text), most, true) }

func cut(text string, most int, atEnd bool) string {
	if most <= 0 {
		return ""
	}
	if width(text) <= most {
		return text
	}
	const mark = "…"
	if atEnd || most < 3 {
		return ansi.Truncate(text, most, mark)
	}
	head := (most - 1) / 2
	tail := most - 1 - head
	return ansi.Truncate(text, head, "") + mark + ansi.TruncateLeft(text, width(text)-tail, "")
}

// clean has a text be one line that does nothing to a terminal: parts of it come from containers and from people.
func clean(text string) string {
	if !strings.ContainsFunc(text, unicode.IsControl) {
		return text
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, ansi.Strip(strings.Map(lineBreaks, text)))
	return strings.TrimRight(text, " ")
}

// lineBreaks has lines not be glued together where control characters go.
func lineBreaks(r rune) rune {
	if r == '\n' || r == '\t' || r == '\r' {
		return ' '
	}
	return r
}
