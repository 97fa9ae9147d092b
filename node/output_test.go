package node_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

func TestLastLinesAreBounded(t *testing.T) {
	many := strings.Repeat("x\n", 10*events.MaxOutputLines)
	long := strings.Repeat("y", events.MaxOutput)
	wide := strings.Repeat("z", events.MaxOutput/4-1) + "\n"
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":                      {"", ""},
		"one line":                     {"a\n", "a\n"},
		"a line without an end":        {"a\nb", "a\nb"},
		"empty lines":                  {"\n\n", "\n\n"},
		"as many as are kept":          {many[:2*events.MaxOutputLines], many[:2*events.MaxOutputLines]},
		"more than are kept":           {"first\n" + many, many[:2*events.MaxOutputLines]},
		"more, and the last unended":   {many + "last", many[:2*events.MaxOutputLines-2] + "last"},
		"a line that is too long":      {"a" + long, long},
		"one that is too long, ended":  {long + "\n", long[1:] + "\n"},
		"lines that fill it":           {"a\n" + strings.Repeat(wide, 4), strings.Repeat(wide, 4)},
		"lines that are cut":           {strings.Repeat(wide, 5)[1:], strings.Repeat(wide, 4)},
		"a beginning that is cut away": {wide + "b\n" + strings.Repeat(wide, 3), "b\n" + strings.Repeat(wide, 3)},
	} {
		got := node.LastLines([]byte(tt.text))
		if string(got) != tt.want {
			t.Errorf("%s: %d bytes in %d lines, want %d in %d", name, len(got), bytes.Count(got, []byte{'\n'}), len(tt.want), strings.Count(tt.want, "\n"))
		}
	}
}

func TestWhatAFailedContainerPrintedBelongsToItsAttempt(t *testing.T) {
	c := node.Container{Handle: "1"}
	failed := node.View{Container: &c, Phase: events.PhaseOffline, Reason: events.OfflineExited}
	if _, ok := failed.Failing(); !ok {
		t.Error("one that exited does not fail")
	}
	for name, other := range map[string]node.View{
		"one that serves":          {Container: &c, Phase: events.PhaseOnline},
		"one without a container":  {Phase: events.PhaseOffline, Reason: events.OfflineExited},
		"one that never ran":       {Container: &c, Phase: events.PhaseOffline, Reason: events.OfflineCreateFailed},
		"one that was not stopped": {Container: &c, Phase: events.PhaseOffline, Reason: events.OfflineUnknown},
	} {
		if _, ok := other.Failing(); ok {
			t.Errorf("%s fails", name)
		}
	}
	if got := failed.Kept(c, "key").State(1).Output; got != "key" {
		t.Errorf("its state refers to %q", got)
	}
	if got := failed.Kept(node.Container{Handle: "0"}, "key").Output; got != "" {
		t.Errorf("it refers to %q, which is of another container", got)
	}
}
