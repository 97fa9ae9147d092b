package main

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

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

// topEvents are new events, one line each, as `rookery events` prints them.
type topEvents []string

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
	// scroll is the offset of each pane in lines: from the top, and for events from the bottom.
	scroll [panes]int
	// filter is the text that a row must contain; typing says that keys edit it.
	filter string
	typing bool
	help   bool
}

func newTop(now time.Time, colour bool) top {
	return top{seen: newSeen(), now: now, colour: colour, width: 80, height: 24}
}

// Init implements tea.Model. It starts nothing, because runTop sends all messages.
func (m top) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m top) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		return m, tea.ClearScreen // the terminal has moved its lines, and the last picture with them
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
	case "tab", "right", "l":
		m.focus = (m.focus + 1) % panes
	case "shift+tab", "left", "h":
		m.focus = (m.focus + panes - 1) % panes
	default:
		m.move(name)
	}
	return m, nil
}

// move scrolls the focused pane. The view limits the distance.
func (m *top) move(name string) {
	const line, half = 1, 10
	steps := map[string]int{
		"up": -line, "k": -line, "down": line, "j": line, "pgup": -half, "pgdown": half, "home": -mostLines, "end": mostLines,
	}
	step := steps[name]
	if m.focus == paneEvents {
		step = -step // events scroll from the bottom
	}
	m.scroll[m.focus] = min(max(0, m.scroll[m.focus]+step), m.farthest(m.focus))
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
	m.scroll = [panes]int{}
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
