package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/rookery-project/rookery/events/bus"
)

// topOf returns the screen after these messages.
func topOf(t *testing.T, messages ...tea.Msg) top {
	t.Helper()
	var m tea.Model = newTop(noon, false, func(topReading) {})
	for _, msg := range messages {
		m, _ = m.Update(msg)
	}
	return m.(top)
}

// pressed returns the keys with these names.
func pressed(names ...string) []tea.Msg {
	var keys []tea.Msg
	codes := map[string]rune{
		"tab": tea.KeyTab, "esc": tea.KeyEscape, "enter": tea.KeyEnter, "backspace": tea.KeyBackspace, "up": tea.KeyUp, "down": tea.KeyDown,
		"left": tea.KeyLeft, "right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd,
	}
	for _, name := range names {
		if code, special := codes[name]; special {
			keys = append(keys, tea.KeyPressMsg{Code: code})
			continue
		}
		for _, r := range name {
			keys = append(keys, tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return keys
}

// exampleEvents returns more events than a screen has room for.
func exampleEvents() topEvents {
	var all topEvents
	for i := range 60 {
		all = append(all, fmt.Sprintf("11:59:%02d.000  demo/web  instance.started 1.%d on edge-1", i, i))
	}
	return append(all, "12:00:00.000  demo/stuck  instance.pending 0: of 3 nodes 2 with too little memory left, 1 without the labels of node_selector")
}

// TestTheScreenOfTop compares the screen with its golden files.
func TestTheScreenOfTop(t *testing.T) {
	var text strings.Builder
	lost := bus.Sight{Lost: errors.New("watch: nats: server is disconnected")}
	for _, row := range []struct {
		name          string
		width, height int
		then          []tea.Msg
	}{
		{"80x24", 80, 24, nil},
		{"80x24, operations marked, filtered by web", 80, 24, pressed("tab", "tab", "/", "web", "enter")},
		{"80x24, events scrolled up, the bus lost", 80, 24, append(pressed("left", "pgup", "up"), lost)},
		{"80x24, a filter is typed", 80, 24, pressed("/", "edgee", "backspace")},
		{"80x24, help", 80, 24, pressed("?")},
		{"80x24, the logs of a service", 80, 24, append(pressed("tab", "down", "l"), topText{1, []string{"0.1  a line", "1.1  another"}, true})},
		{"200x50", 200, 50, nil},
	} {
		m := topOf(t, append([]tea.Msg{tea.WindowSizeMsg{Width: row.width, Height: row.height}, exampleViews(t), exampleEvents()}, row.then...)...)
		text.WriteString("== " + row.name + "\n")
		for _, line := range m.lines() {
			text.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	golden(t, "testdata/top.txt", text.String())
}

// TestTheScreenOfTopHasItsSize resizes the screen and presses random keys. The screen is always as high as the terminal, and never
// wider.
func TestTheScreenOfTopHasItsSize(t *testing.T) {
	views, happened := exampleViews(t), exampleEvents()
	names := []string{"tab", "left", "right", "up", "down", "pgup", "pgdown", "home", "end", "/", "web", "esc", "enter", "backspace", "?", "x", "e", "l", "u"}
	rapid.Check(t, func(r *rapid.T) {
		var m tea.Model = newTop(noon, rapid.Bool().Draw(r, "colour"), func(topReading) {})
		for range rapid.IntRange(0, 12).Draw(r, "steps") {
			var msg tea.Msg
			switch rapid.IntRange(0, 5).Draw(r, "step") {
			case 0:
				msg = tea.WindowSizeMsg{Width: rapid.IntRange(1, 220).Draw(r, "width"), Height: rapid.IntRange(1, 60).Draw(r, "height")}
			case 1:
				msg = views
			case 2:
				msg = happened
			case 3:
				msg = bus.Sight{Lost: errors.New("no server")}
			case 4:
				msg = topTime(noon.Add(time.Hour))
			default:
				msg = pressed(rapid.SampledFrom(names).Draw(r, "key"))[0]
			}
			m, _ = m.Update(msg)
			now := m.(top)
			lines := now.lines()
			if len(lines) != now.height {
				r.Fatalf("it has %d lines on a screen of %d", len(lines), now.height)
			}
			for _, line := range lines {
				if w := ansi.StringWidth(line); w > max(now.width, len(time.TimeOnly)) {
					r.Fatalf("a line has %d cells on a screen of %d: %q", w, now.width, line)
				}
			}
		}
	})
}

// TestTopOpensWhatIsMarked presses keys on rows, and returns to the panes.
func TestTopOpensWhatIsMarked(t *testing.T) {
	for _, row := range []struct {
		keys []string
		want topReading
	}{
		{[]string{"down", "enter"}, topReading{verb: "inspect", of: "edge-2"}},
		{[]string{"e"}, topReading{verb: "events", of: "edge-1"}},
		{[]string{"l"}, topReading{}}, // a node has no logs
		{[]string{"tab", "down", "l"}, topReading{verb: "logs", of: "demo/web"}},
		{[]string{"tab", "end", "x"}, topReading{verb: "explain", of: "shop/basket"}},
		{[]string{"tab", "tab", "u"}, topReading{verb: "stats", of: "demo/web"}},
		{[]string{"tab", "tab", "end", "u"}, topReading{}}, // a note
		{[]string{"left", "enter"}, topReading{}},          // an event
		{[]string{"tab", "l", "esc"}, topReading{}},
	} {
		var wanted topReading
		var m tea.Model = newTop(noon, false, func(r topReading) { wanted = r })
		for _, msg := range append([]tea.Msg{exampleViews(t), exampleEvents()}, pressed(row.keys...)...) {
			var then tea.Cmd
			if m, then = m.Update(msg); then != nil {
				then()
			}
		}
		if wanted.verb != row.want.verb || wanted.of != row.want.of || m.(top).opened.verb != row.want.verb {
			t.Errorf("%v opens %+v, want %+v", row.keys, wanted, row.want)
		}
	}
}

// TestTheMarkFollowsItsRow removes the row above the marked one.
func TestTheMarkFollowsItsRow(t *testing.T) {
	m := topOf(t, append([]tea.Msg{exampleViews(t)}, pressed("tab", "down")...)...)
	next, _ := m.Update(bus.Sight{Changes: []bus.Change{{Bucket: bus.BucketServices, Key: "demo.stuck"}}})
	if got := next.(top).about(paneServices); got != "demo/web" {
		t.Errorf("it marks %q", got)
	}
}

// TestTopShowsTheLastReadingAlone opens one thing after the other, and gets text of both.
func TestTopShowsTheLastReadingAlone(t *testing.T) {
	m := topOf(t, append(append([]tea.Msg{exampleViews(t)}, pressed("tab", "l", "esc", "e")...),
		topText{3, []string{"old", "two"}, true}, topText{3, []string{"new"}, true}, topText{3, []string{"newer"}, false}, topText{1, []string{"late"}, true})...)
	if got := strings.Join(m.opened.lines, " "); got != "new newer" {
		t.Errorf("it shows %q", got)
	}
}

// TestTheOutputOfACommandIsToldInLines writes parts of lines.
func TestTheOutputOfACommandIsToldInLines(t *testing.T) {
	for _, follows := range []bool{true, false} {
		var told []string
		p := &paper{tell: func(x topText) { told = append(told, fmt.Sprint(x.whole, x.lines)) }, whole: true, follows: follows}
		for _, part := range []string{"a", "b\nc\n", "d"} {
			fmt.Fprint(p, part)
		}
		p.end()
		want := "[true [] false [ab c] false [d]]"
		if !follows {
			want = "[true [ab c d]]"
		}
		if got := fmt.Sprint(told); got != want {
			t.Errorf("it follows: %t: it tells %s, want %s", follows, got, want)
		}
	}
}

// TestTopQuits presses the keys that end top.
func TestTopQuits(t *testing.T) {
	for _, row := range []struct {
		key  tea.KeyPressMsg
		want tea.Msg
	}{
		{tea.KeyPressMsg{Code: 'q', Text: "q"}, tea.QuitMsg{}},
		{tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}, tea.InterruptMsg{}},
	} {
		if _, cmd := topOf(t).Update(row.key); cmd == nil || cmd() != row.want {
			t.Errorf("%s does not end it", row.key)
		}
	}
	typing := topOf(t, pressed("/")...)
	if next, cmd := typing.Update(pressed("q")[0]); cmd != nil || next.(top).filter != "q" {
		t.Error("a key typed into the filter ends top")
	}
}

// TestTopGoesOnWhenTheBusIsBack loses the bus twice.
func TestTopGoesOnWhenTheBusIsBack(t *testing.T) {
	lost := bus.Sight{Lost: errors.New("no server")}
	m := topOf(t, exampleViews(t), topTime(noon.Add(time.Minute)), lost, topTime(noon.Add(time.Hour)), lost)
	if got := m.lines()[0]; !strings.HasPrefix(got, "the bus is lost since 12:01:00, retrying: no server") || len(m.seen.nodes) != 2 {
		t.Errorf("a lost bus is shown as %q, with %d nodes", got, len(m.seen.nodes))
	}
	next, _ := m.Update(bus.Sight{Whole: true})
	if got := next.(top).lines()[0]; !strings.HasPrefix(got, "rookery top   0 nodes") {
		t.Errorf("a bus that is back is shown as %q", got)
	}
}
