package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
)

const (
	// besideFrom is the least width at which nodes and services stand side by side.
	besideFrom = 150
	// paneLeast is the least height of a pane: its title, the head of its table and a row.
	paneLeast = 3
)

const (
	topKeys    = "tab ↑↓  ⏎ inspect  e events  l logs  x why  u usage  / filter  ? help  q quit"
	openedKeys = "esc back   ↑↓ pgup pgdn scroll   q quit"
)

const topHelp = `rookery top shows the cluster, and every change at once.

` + topKeysHelp + `

Press any key to return.`

const topKeysHelp = `  tab, → and shift+tab, ←   next pane, previous pane
  ↑ ↓ pgup pgdn home end    move the mark in the pane, or scroll the events
  enter                     inspect the marked service or node
  e l x u                   its events, logs, explanation, usage; a node has only events
  esc                       return
  /                         filter rows by a text
  enter, esc                keep the filter that is typed, clear it
  ?                         show this help
  q                         quit (Ctrl-C quits with exit code 130)

NODES       CPU and MEMORY: reserved, of the capacity for instances
SERVICES    INSTANCES: serving, of the target; AGE: of the oldest instance
OPERATIONS  current operations first, with their waits; then ended ones
EVENTS      newest last; scroll up for earlier ones`

// View implements tea.Model.
func (m top) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	v.WindowTitle = "rookery top"
	return v
}

// lines returns the lines of the whole screen.
func (m top) lines() []string {
	var body []string
	switch {
	case m.help:
		for line := range strings.SplitSeq(topHelp, "\n") {
			body = append(body, grid.Cut(line, m.width))
		}
	case m.opened.verb != "":
		body = m.openedBody()
	default:
		body = m.body()
	}
	room := max(m.height-2, 0)
	body = append(body, make([]string, room)...)[:room]
	lines := append([]string{m.header()}, body...)
	return append(lines, m.footer())[:max(m.height, 1)]
}

func (m top) header() string {
	now := m.now.Local().Format(time.TimeOnly)
	text := fmt.Sprintf("rookery top   %d nodes   %d services   %d instances", len(m.seen.nodes), len(m.seen.services), len(m.seen.instances))
	mood := grid.Neutral
	switch {
	case m.lost != nil:
		text = fmt.Sprintf("the bus is lost since %s, retrying: %s", clock(m.lostAt, m.now), m.lost)
		mood = grid.Bad
	case !m.begun:
		text = "rookery top   waiting for the cluster's state"
	}
	text = grid.Cut(text, max(m.width-len(now)-2, 0))
	return m.bold(m.painted(mood, text)) + strings.Repeat(" ", max(m.width-ansi.StringWidth(text)-len(now), 0)) + now
}

func (m top) footer() string {
	switch {
	case m.typing:
		return grid.Cut("filter: "+m.filter+"▏  enter keeps it, esc clears it", m.width)
	case m.opened.verb != "":
		return m.painted(grid.Quiet, grid.Cut(openedKeys, m.width))
	case m.filter != "":
		return grid.Cut("filtered by \""+m.filter+"\" (esc shows all)   "+topKeys, m.width)
	}
	return m.painted(grid.Quiet, grid.Cut(topKeys, m.width))
}

func (m top) painted(mood grid.Mood, text string) string {
	if !m.colour {
		return text
	}
	return mood.Paint(text)
}

func (m top) bold(text string) string {
	if !m.colour {
		return text
	}
	return "\x1b[1m" + text + "\x1b[22m"
}

// body lays out the panes.
func (m top) body() []string {
	if m.width < besideFrom {
		heights := m.heights([]pane{paneNodes, paneServices, paneOperations, paneEvents}, m.width)
		var lines []string
		for p := range panes {
			lines = append(lines, m.pane(p, m.width, heights[p])...)
		}
		return lines
	}
	const between = 3
	left := (m.width - between) / 2
	right := m.width - between - left
	heights := m.heights([]pane{paneServices, paneOperations, paneEvents}, m.width)
	heights[paneServices] = min(max(heights[paneServices], len(m.content(paneNodes, left))+1), max(heights[paneServices], m.height/2))
	heights[paneEvents] = max(m.height-2-heights[paneServices]-heights[paneOperations], 0)
	var lines []string
	nodes, services := m.pane(paneNodes, left, heights[paneServices]), m.pane(paneServices, right, heights[paneServices])
	for i := range services {
		lines = append(lines, nodes[i]+strings.Repeat(" ", left-ansi.StringWidth(nodes[i])+between)+services[i])
	}
	lines = append(lines, m.pane(paneOperations, m.width, heights[paneOperations])...)
	return append(lines, m.pane(paneEvents, m.width, heights[paneEvents])...)
}

// heights divides the screen: each pane gets the least height, then panes that need more get lines in turn, the focused pane two at a
// time. Events get the rest.
func (m top) heights(all []pane, width int) [panes]int {
	var heights, wanted [panes]int
	room := m.height - 2
	for _, p := range all {
		heights[p] = paneLeast
		wanted[p] = len(m.content(p, width)) + 1
		room -= paneLeast
	}
	for given := true; given && room > 0; {
		given = false
		for _, p := range append(slices.Clone(all), m.focus) {
			if room > 0 && slices.Contains(all, p) && heights[p] < wanted[p] {
				heights[p]++
				room--
				given = true
			}
		}
	}
	heights[paneEvents] += max(room, 0)
	return heights
}

// shown returns the rows and notes of a pane that pass the filter.
func (m top) shown(p pane, style grid.Style) (shown page) {
	switch p {
	case paneNodes:
		shown = nodesPage(m.seen.nodesOf(""))
	case paneServices:
		shown = servicesPage(m.seen, within{}, m.now)
	case paneOperations:
		all := m.operations()
		shown = operationsPage(all, m.now)
		shown.notes = nil
		for _, op := range all {
			if op.Outcome == "" && m.passes(op.Namespace+"/"+op.Name) {
				for _, n := range waitNotes(op) {
					shown.notes = append(shown.notes, op.Namespace+"/"+op.Name+" "+strings.TrimLeft(n, " "))
				}
			}
		}
	case paneEvents, panes:
	}
	shown.grid.Rows = slices.DeleteFunc(shown.grid.Rows, func(r grid.Row) bool { return !m.passes(shown.grid.Told(r, style)) })
	if p == paneNodes {
		shown.notes = slices.DeleteFunc(shown.notes, func(n string) bool { return !m.passes(n) })
	}
	return shown
}

// gutter is the width of the mark before rows.
const gutter = 2

// content returns the lines of a pane. The first line is the head of a table, except for events.
func (m top) content(p pane, width int) []string {
	if p == paneEvents {
		return m.eventLines(grid.Style{Width: width, Colour: m.colour})
	}
	style := grid.Style{Width: max(width-gutter, 1), Colour: m.colour}
	shown := m.shown(p, style)
	switch p {
	case paneServices: // the operations show what this pane cuts
		return shown.grid.Lines(style)
	case paneOperations: // the waits stand before ended operations
		waits := page{notes: shown.notes}.lines(style)[1:] // without a head
		ended := page{notes: shown.grid.Untold(style)}.lines(style)[1:]
		return append(append(shown.grid.Lines(style), waits...), ended...)
	case paneNodes, paneEvents, panes:
	}
	return shown.lines(style)
}

func (m top) eventLines(style grid.Style) []string {
	const most = 300 // lines: each picture lays out all of them, and operators do not scroll farther
	var lines []string
	for i := len(m.events) - 1; i >= 0 && len(lines) < most; i-- {
		if m.passes(m.events[i]) {
			folded := eventLines(m.events[i], 0, style)
			slices.Reverse(folded)
			lines = append(lines, folded...)
		}
	}
	slices.Reverse(lines)
	return lines
}

// farthest returns the largest offset of the pane.
func (m top) farthest(p pane) int {
	heads := 1
	if p == paneEvents {
		heads = 0
	}
	return max(len(m.content(p, m.width))-heads-1, 0)
}

// pane returns exactly as many lines as the pane is high.
func (m top) pane(p pane, width, height int) []string {
	if height <= 0 {
		return nil
	}
	content := m.content(p, width)
	var head []string
	if p != paneEvents && len(content) > 0 {
		head, content = content[:1], content[1:]
	}
	room := max(height-1-len(head), 0)
	most := max(len(content)-room, 0)
	from := most - min(m.scroll[p], most)
	if p != paneEvents {
		at := m.line(p)
		from = min(max(at-room/2, 0), most) // the mark is near the middle
		mark := -1
		if p == m.focus {
			mark = at
		}
		head, content = withMark(head, -1), withMark(content, mark)
	}
	shown := content[from:min(from+room, len(content))]
	lines := append([]string{m.title(paneNames[p], p == m.focus, width, from, len(shown), len(content))}, append(slices.Clone(head), shown...)...)
	return append(lines, make([]string, height)...)[:height]
}

// withMark puts the mark before one of the lines, and room for it before the others.
func withMark(lines []string, at int) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = strings.Repeat(" ", gutter) + line
		if i == at {
			all[i] = "▸ " + line
		}
	}
	return all
}

// openedBody lays out what the operator opened, below its title.
func (m top) openedBody() []string {
	lines := m.openedLines()
	room := max(m.height-3, 0)
	most := max(len(lines)-room, 0)
	from := min(m.opened.scroll, most)
	if m.opened.follows {
		from = most - from
	}
	shown := lines[from:min(from+room, len(lines))]
	return append([]string{m.title(m.opened.verb+" "+m.opened.of, true, m.width, from, len(shown), len(lines))}, shown...)
}

func (m top) openedLines() []string {
	var lines []string
	for _, line := range m.opened.lines {
		lines = append(lines, grid.Fold(line, m.width, gutter)...)
	}
	return lines
}

// title names a pane, and draws a rule. If there are more lines than fit, it gives the visible range.
func (m top) title(name string, focused bool, width, from, shown, all int) string {
	mark := "  "
	if focused {
		mark = "▸ "
	}
	text := mark + name + " "
	if shown < all {
		text += fmt.Sprintf("%d-%d of %d ", from+1, from+shown, all)
	}
	text = grid.Cut(text, width)
	rule := strings.Repeat("─", max(width-ansi.StringWidth(text), 0))
	if focused {
		return m.bold(text) + m.painted(grid.Quiet, rule)
	}
	return text + m.painted(grid.Quiet, rule)
}
