package main

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// pane is a part of the screen.
type pane int

// The panes, from the top.
const (
	paneNodes pane = iota
	paneServices
	paneOperations
	paneEvents
	panes
)

var paneNames = [panes]string{"NODES", "SERVICES", "OPERATIONS", "EVENTS"}

// mostEvents is how many past events the screen keeps.
const mostEvents = 1000

// settles is how long a terminal may take to change its size.
const settles = 300 * time.Millisecond

// topEvents are new events, one line each, as `rookery events` prints them.
type topEvents []string

// topOpened is what the operator opened from a row, in place of the panes.
type topOpened struct {
	topReading
	lines []string
	// follows says that the newest line is the last one, which the screen shows until the operator scrolls.
	follows bool
	scroll  int // in lines: from the top, or from the bottom if it follows
}

// topTime is the current time.
type topTime time.Time

// top is the model of the screen. It uses neither the bus nor the terminal. All its input, including the time, comes in messages, and
// View depends on it only.
type top struct {
	width, height int
	colour        bool
	now           time.Time

	// seen is shared by successive models, which is safe because Bubble Tea discards a model once it has the next.
	seen   *seen
	events []string
	// lost is the error that ended the watch at lostAt; nil while the watch runs.
	lost   error
	lostAt time.Time
	// begun says that the first views have arrived.
	begun bool

	focus pane
	// scroll is the line of each pane with the mark, from the top; of events the offset from the bottom.
	scroll [panes]int
	// marked is the object of the marked line, which the mark follows when other rows come and go.
	marked [panes]string

	opened topOpened // the zero value while the panes are shown
	// want runs the reading in place of the one before.
	want func(topReading)
	// filter is the text that a row must contain; typing says that keys edit it.
	filter string
	typing bool
	help   bool
}

func newTop(now time.Time, colour bool, want func(topReading)) top {
	return top{seen: newSeen(), now: now, colour: colour, width: 80, height: 24, want: want}
}

// Init implements tea.Model. It starts nothing, because runTop sends all messages.
func (m top) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m top) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		// The terminal has moved its lines, and the last picture with them; also what it got while it changed.
		redraw := tea.Batch(tea.ClearScreen, tea.Tick(settles, func(time.Time) tea.Msg { return tea.ClearScreen() }))
		if m.opened.verb != "" {
			m, again := m.open(m.opened.topReading)
			return m, tea.Batch(redraw, again)
		}
		return m, redraw
	case topText:
		return m.read(msg), nil
	case topTime:
		m.now = time.Time(msg)
	case topEvents:
		all := append(slices.Clone(m.events), msg...)
		m.events = all[max(0, len(all)-mostEvents):]
	case bus.Sight:
		return m.see(msg), nil
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		if m.typing {
			m.filter += msg.Content
		}
	}
	return m, nil
}

// see applies the changes from a watch.
func (m top) see(told bus.Sight) top {
	err := told.Lost
	if err == nil {
		err, m.begun = m.seen.take(told), true
	}
	if err != nil && m.lost == nil {
		m.lostAt = m.now
	}
	m.lost = err
	return m
}

func (m top) key(key tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	name := key.String()
	switch {
	case name == "ctrl+c":
		return m, tea.Interrupt
	case m.typing:
		return m.typed(key), nil
	case m.help:
		m.help = false
		return m, nil
	case m.opened.verb != "" && name != "q":
		return m.openedKey(name)
	}
	switch name {
	case "q":
		return m, tea.Quit
	case "?":
		m.help = true
	case "/":
		m.typing = true
	case "esc":
		m.filter = ""
	case "tab", "right":
		m.focus = (m.focus + 1) % panes
	case "shift+tab", "left":
		m.focus = (m.focus + panes - 1) % panes
	default:
		for _, v := range topVerbs {
			of := m.about(m.focus)
			if _, is := v.args(of); is && of != "" && v.key == name {
				return m.open(topReading{verb: v.verb, of: of})
			}
		}
		m.move(name)
	}
	return m, nil
}

// open shows the output of a command in place of the panes, or the panes again for the zero verb.
func (m top) open(r topReading) (top, tea.Cmd) {
	r.number, r.width = m.opened.number+1, m.width
	m.opened = topOpened{topReading: r, follows: verbNamed(r.verb).follows}
	return m, func() tea.Msg {
		m.want(r)
		return nil
	}
}

// read adds output of what is open.
func (m top) read(t topText) top {
	if t.number != m.opened.number {
		return m
	}
	all := t.lines
	if !t.whole {
		all = append(slices.Clone(m.opened.lines), t.lines...)
	}
	m.opened.lines = all[max(0, len(all)-mostEvents):]
	return m
}

// openedKey applies a key to what is open.
func (m top) openedKey(name string) (tea.Model, tea.Cmd) {
	if name == "esc" || name == "backspace" {
		return m.open(topReading{})
	}
	step := steps[name]
	if m.opened.follows {
		step = -step
	}
	m.opened.scroll = min(max(0, m.opened.scroll+step), max(len(m.openedLines())-1, 0))
	return m, nil
}

// steps are the distances of the keys that move.
var steps = map[string]int{
	"up": -line, "k": -line, "down": line, "j": line, "pgup": -half, "pgdown": half, "home": -mostLines, "end": mostLines,
}

const line, half = 1, 10

// move moves the mark of the focused pane, or scrolls the events.
func (m *top) move(name string) {
	step := steps[name]
	if m.focus == paneEvents {
		step = -step // events scroll from the bottom
	}
	m.scroll[m.focus] = min(max(0, m.line(m.focus)+step), m.farthest(m.focus))
	m.marked[m.focus] = ""
	m.marked[m.focus] = m.about(m.focus)
}

// line returns the line of the pane with the mark: that of the marked object while it is there.
func (m top) line(p pane) int {
	if m.marked[p] != "" {
		if at := slices.Index(m.keys(p), m.marked[p]); at >= 0 {
			return at
		}
	}
	return min(m.scroll[p], m.farthest(p))
}

// about returns the object of the marked line; "" for a line that is about none.
func (m top) about(p pane) string {
	keys, at := m.keys(p), m.line(p)
	if at >= len(keys) {
		return ""
	}
	return keys[at]
}

// keys returns the objects of the rows of a pane. Notes below them have none.
func (m top) keys(p pane) []string {
	if p == paneEvents {
		return nil
	}
	var keys []string
	for _, r := range m.shown(p, grid.Style{Width: m.width}).grid.Rows {
		keys = append(keys, r.Key)
	}
	return keys
}

// mostLines is more than any pane has.
const mostLines = 1 << 20

// typed applies a key to the filter.
func (m top) typed(key tea.KeyPressMsg) top {
	switch key.String() {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, m.filter = false, ""
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(m.filter)
		m.filter = m.filter[:len(m.filter)-size]
	default:
		m.filter += key.Text
	}
	m.scroll, m.marked = [panes]int{}, [panes]string{}
	return m
}

// passes reports whether a text matches the filter.
func (m top) passes(text string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(m.filter))
}

// operations returns current operations first, then ended ones, the most recent first.
func (m top) operations() []views.ServiceOperation {
	all := m.seen.operationsOf(within{})
	slices.SortStableFunc(all, func(a, b views.ServiceOperation) int { return b.Ended.Compare(a.Ended) })
	slices.SortStableFunc(all, func(a, b views.ServiceOperation) int {
		switch {
		case a.Outcome == "" && b.Outcome != "":
			return -1
		case a.Outcome != "" && b.Outcome == "":
			return 1
		}
		return 0
	})
	return all
}
