package events_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rookery-project/rookery/events"
)

// TestAnyLineGoesOverTheBus sends lines of any content: each has a bounded length on the bus, and is one line again.
func TestAnyLineGoesOverTheBus(t *testing.T) {
	at := time.Unix(5, 6).UTC()
	for name, row := range map[string]struct {
		text string
		cut  bool
	}{
		"empty":                  {"", false},
		"short":                  {"a b  c ", false},
		"as long as may be":      {strings.Repeat("x", events.MaxLogLine), false},
		"too long":               {strings.Repeat("x", events.MaxLogLine+1), true},
		"cut inside a character": {"x" + strings.Repeat("é", events.MaxLogLine), true},
		"too long and binary":    {strings.Repeat("\xff", events.MaxLogLine+1), true},
		"binary":                 {strings.Repeat("\xff\x01", events.MaxLogLine/2), true},
	} {
		body := events.LogLine{Time: at, Stream: events.Stderr, Text: row.text}.AppendTo(nil)
		if most := events.MaxLogLine + 100; len(body) > most || !utf8.Valid(body) {
			t.Errorf("%s: %d bytes go over the bus, want %d at most and valid", name, len(body), most)
		}
		lines, err := events.ParseLogLines(body)
		if err != nil || len(lines) != 1 || lines[0].Time != at || lines[0].Stream != events.Stderr {
			t.Errorf("%s: %d lines come, %v", name, len(lines), err)
			continue
		}
		if cut := strings.HasSuffix(lines[0].Text, events.CutMark); cut != row.cut || !cut && lines[0].Text != row.text {
			t.Errorf("%s: a line of %d bytes comes, cut %t", name, len(lines[0].Text), cut)
		}
	}
}
