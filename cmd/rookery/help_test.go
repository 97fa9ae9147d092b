package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestHelpFitsTheTerminal lays the help of every command out for screens of some widths: what is no example is no
// wider, and no word is lost.
func TestHelpFitsTheTerminal(t *testing.T) {
	for path, c := range commandTree() {
		var out bytes.Buffer
		c.SetOut(&out)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if got := strings.Join(fitted(text, 0), "\n"); got != strings.TrimRight(text, "\n") {
			t.Errorf("%s --help is another in a pipe:\n%s", path, got)
		}
		for _, screen := range []int{80, 120, 200} {
			lines := fitted(text, screen)
			for _, line := range lines {
				if ansi.StringWidth(line) > screen && !strings.Contains(text, "\n"+line+"\n") {
					t.Errorf("%s --help has a line of %d on %d: %s", path, ansi.StringWidth(line), screen, line)
				}
			}
			if got := strings.Join(lines, " "); strings.Join(strings.Fields(got), "") != strings.Join(strings.Fields(text), "") {
				t.Errorf("%s --help has other words on %d:\n%s", path, screen, strings.Join(lines, "\n"))
			}
		}
	}
}

// TestHelpIsFilledAnew has a paragraph be filled anew, and an example and a flag stay lines.
func TestHelpIsFilledAnew(t *testing.T) {
	got := strings.Join(fitted("Have what\nthere is to be had, all of it.\n\n  rookery have it all the way down\nFlags:\n  -f, --file   what is had,\n  -g, --gone   all that is had no more\n", 32), "\n")
	want := `Have what there is to be had,
all of it.

  rookery have it all the way down
Flags:
  -f, --file   what is had,
  -g, --gone   all that is had
               no more`
	if got != want {
		t.Errorf("it is\n%s", got)
	}
}
