package main

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
)

func TestLinesAreInTheFormatThatIsAsked(t *testing.T) {
	l := lineOf{LogLine: events.LogLine{Time: time.Unix(0, 0).UTC(), Stream: events.Stderr, Text: "a: b"}, Ordinal: 2, Generation: 1, Node: "edge"}
	for format, want := range map[string]string{
		formatText: "2.1   | a: b\n",
		formatJSON: `{"time":"1970-01-01T00:00:00Z","stream":"stderr","text":"a: b","ordinal":2,"generation":1,"node":"edge"}` + "\n",
		formatYAML: "---\ntime: \"1970-01-01T00:00:00Z\"\nstream: stderr\ntext: 'a: b'\nordinal: 2\ngeneration: 1\nnode: edge\n",
	} {
		var shown bytes.Buffer
		p := &linePrinter{out: bufio.NewWriter(&shown), output: output{format}}
		for range 2 {
			if err := p.print(l); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.out.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := shown.String(); got != want+want {
			t.Errorf("as %s it is\n%s", format, got)
		}
	}
}

// TestALineOfAnInstanceCommandsNoTerminal prints lines that would clear the screen, set its title and reverse text, in every format.
func TestALineOfAnInstanceCommandsNoTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain\tä 🙂":          "plain\tä 🙂",
		"\x1b[2Jgone":         `\x1b[2Jgone`,
		"\x1b]0;title\a":      `\x1b]0;title\a`,
		"\u009b31mred":        `\u009b31mred`,
		"over\rwritten\b\x7f": `over\rwritten\b\x7f`,
		"user\u202etxt.exe":   `user\u202etxt.exe`,
	} {
		for _, on := range []struct {
			escapes bool
			want    string
		}{{true, want}, {false, text}} {
			var shown bytes.Buffer
			p := &linePrinter{out: bufio.NewWriter(&shown), output: output{"table"}, escapes: on.escapes}
			if err := errors.Join(p.print(lineOf{LogLine: events.LogLine{Text: text}}), p.out.Flush()); err != nil {
				t.Fatal(err)
			}
			if shown.String() != "0.0   | "+on.want+"\n" {
				t.Errorf("%q is shown as %q, want %q", text, shown.String(), on.want)
			}
		}
		for _, format := range []string{formatJSON, formatYAML} {
			var shown bytes.Buffer
			p := &linePrinter{out: bufio.NewWriter(&shown), output: output{format}, escapes: true}
			if err := errors.Join(p.print(lineOf{LogLine: events.LogLine{Text: text}}), p.out.Flush()); err != nil {
				t.Fatal(err)
			}
			if strings.ContainsFunc(shown.String(), func(r rune) bool { return commands(r) && r != '\n' }) {
				t.Errorf("%q is shown as %q", text, shown.String())
			}
		}
	}
}
