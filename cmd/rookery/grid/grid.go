// Package grid lays rows out in columns for operators to read. It is pure: from the width and the colours of the screen it makes lines.
//
// Only this package decides what a narrow screen omits, from the properties of each column:
//
//  1. A table omits nothing if all fits, without a terminal (Style.Width is 0), or if the caller wants all of it (Style.All).
//  2. Columns without any text disappear.
//  3. Detail columns disappear, the last one first, until the others fit with their texts cut to Least.
//  4. Then Useful columns disappear in the same way.
//  5. Texts share the remaining room, the shortest first. They are cut at their end.
//  6. If the Always columns still do not fit, the longest text loses cells in its middle. At last the whole line is cut at its end,
//     so that no line is wider than the screen.
//  7. Texts of Column.Whole that the table cuts or omits appear below the table: see Untold.
package grid

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Keep says when a column disappears on a narrow screen.
type Keep int

// The ways to keep a column.
const (
	Always Keep = iota // the object of a row, and its state
	Useful             // what operators often need
	Detail             // what operators seldom need
	Wide               // only with Style.All
)

// Column is a column of a table.
type Column struct {
	Head string
	Keep Keep
	// Least is the least width to which a text is cut at its end while other columns can still disappear. 0 means that the column is
	// never cut at its end, because it holds values and not text.
	Least int
	// Whole says that operators must see the whole text.
	Whole bool
	// Passing says that the column changes only because time passes.
	Passing bool
}

// Cell is the content of a row in one column.
type Cell struct {
	Text string
	Mood Mood
}

// Plain returns a cell without a mood.
func Plain(text string) Cell { return Cell{Text: text} }

// Row is a row with a unique Key.
type Row struct {
	Key   string
	Cells []Cell
}

// Table is a table to lay out. Every row has a cell for each column.
type Table struct {
	Columns []Column
	Rows    []Row
}

// Style describes the screen.
type Style struct {
	// Width is the width of the screen in cells; 0 without a screen, which cuts nothing.
	Width int
	// Colour says that moods are shown as colours.
	Colour bool
	// All shows all columns, and whole texts.
	All bool
}

const gap = 2

// least is the least width to which a text is cut in its middle.
const least = 6

// Lines returns the head and the rows, one line each.
func (t Table) Lines(s Style) []string {
	l := t.layout(s)
	lines := make([]string, 0, len(t.Rows)+1)
	lines = append(lines, l.line(t, Row{Cells: t.head()}, s))
	for _, r := range t.Rows {
		lines = append(lines, l.line(t, r, s))
	}
	return lines
}

// Told returns the content of a row in all columns except Wide and Passing ones. A row with the same content has not changed.
func (t Table) Told(r Row, s Style) string {
	var told []string
	for i, c := range t.Columns {
		if !c.Passing && (c.Keep != Wide || s.All) {
			told = append(told, r.Cells[i].Text)
		}
	}
	return strings.Join(told, "\x00")
}

// Untold returns the Whole texts that the lines cut or omit, each text once: the first row that has it, the number of other rows, and
// the text.
func (t Table) Untold(s Style) []string {
	const most = 5
	l := t.layout(s)
	var texts []string
	of := map[string][]string{} // the keys of the rows with this text
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

// layout is the set of visible columns, with their widths.
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

// spread gives the remaining room to shortened texts, the least shortened first, so that as many as possible are whole.
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

// squeeze takes the excess from the widest columns.
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

// natural returns the width of each column with all texts whole.
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

// Cut returns the text in at most this many cells. It cuts the end of a longer text, and removes characters that would move the
// cursor.
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

// clean makes a text one line without control characters, because containers and clients can write parts of it.
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

// lineBreaks turns line breaks into spaces, so that words stay apart.
func lineBreaks(r rune) rune {
	if r == '\n' || r == '\t' || r == '\r' {
		return ' '
	}
	return r
}
