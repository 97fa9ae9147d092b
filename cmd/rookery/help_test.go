package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestHelpFitsTheTerminal wraps the help of every command to screens of several widths. Only examples may be wider, and no word gets
// lost.
func TestHelpFitsTheTerminal(t *testing.T) {
	for path, c := range commandTree() {
		var out bytes.Buffer
		c.SetOut(&out)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if got := strings.Join(fitted(text, 0), "\n"); got != strings.TrimRight(text, "\n") {
			t.Errorf("%s --help differs in a pipe:\n%s", path, got)
		}
		for _, screen := range []int{80, 120, 200} {
			lines := fitted(text, screen)
			for _, line := range lines {
				if ansi.StringWidth(line) > screen && !strings.Contains(text, "\n"+line+"\n") {
					t.Errorf("%s --help has a line of %d columns on a screen of %d: %s", path, ansi.StringWidth(line), screen, line)
				}
			}
			if got := strings.Join(lines, " "); strings.Join(strings.Fields(got), "") != strings.Join(strings.Fields(text), "") {
				t.Errorf("%s --help has other words on a screen of %d:\n%s", path, screen, strings.Join(lines, "\n"))
			}
		}
	}
}

// TestHelpIsFilledAnew refills a paragraph, and keeps the lines of an example and a flag.
func TestHelpIsFilledAnew(t *testing.T) {
	got := strings.Join(fitted("Deploy the\nservices of a file, all at once\n\n  rookery ps demo/web --output wide\n"+
		"Flags:\n  -f, --file   the file,\n  -g, --gone   delete every other one\n", 32), "\n")
	want := `Deploy the services of a file,
all at once

  rookery ps demo/web --output wide
Flags:
  -f, --file   the file,
  -g, --gone   delete every
               other one`
	if got != want {
		t.Errorf("it is\n%s", got)
	}
}
