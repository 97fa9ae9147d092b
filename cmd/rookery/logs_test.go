package main

import (
	"bufio"
	"bytes"
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
