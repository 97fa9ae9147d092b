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

// mostEvents is how many events the screen goes back to.
const mostEvents = 1000

// topEvents are events that have happened, a line each, as `rookery events` has them.
type topEvents []string

// topTime is what time it is.
type topTime time.Time

// top is what the screen shows. It knows neither bus nor terminal: what it knows came in messages, the time among them, and View is
// a function of it.
type top struct {
	width, height int
	colour        bool
	now           time.Time

	// seen belongs to this one: each message returns the next, and nobody keeps those before.
	seen   *seen
	events []string
	// lost says why nothing is seen any more, since lostAt; nil where all is.
	lost   error
	lostAt time.Time
	// begun says that something was seen.
	begun bool

	focus pane
	// scroll is how many lines each pane is moved: down from its beginning, and events up from their end.
	scroll [panes]int
	// filter is what a row must have to be shown; typing says that keys go into it.
	filter string
	typing bool
	help   bool
}

func newTop(now time.Time, colour bool) top {
	return top{seen: newSeen(), now: now, colour: colour, width: 80, height: 24}
}

// Init implements tea.Model: whatever comes is sent from outside.
func (m top) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m top) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
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

// see takes what a watch tells.
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

// move scrolls the pane that has the focus. How far that can be is for the view to say.
func (m *top) move(name string) {
	const line, half = 1, 10
	steps := map[string]int{
		"up": -line, "k": -line, "down": line, "j": line, "pgup": -half, "pgdown": half, "home": -mostLines, "end": mostLines,
	}
	step := steps[name]
	if m.focus == paneEvents {
		step = -step // its end is where it begins
	}
	m.scroll[m.focus] = min(max(0, m.scroll[m.focus]+step), m.farthest(m.focus))
}

// mostLines is more than any pane has.
const mostLines = 1 << 20

// typed takes a key into the filter.
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

// passes reports whether the filter lets a text be shown.
func (m top) passes(text string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(m.filter))
}

// operations returns what goes on before what has ended, that last of all which ended first.
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
