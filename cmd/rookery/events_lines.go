package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
)

// eventTime is the layout of the time of day at the start of an event's line. A date may precede it.
const eventTime = time.TimeOnly + ".000"

func isEventTime(text string) bool {
	return len(text) == len(eventTime) || len(text) == len(time.DateOnly+" "+eventTime)
}

// eventLines fits the line of an event into the screen's width, below its time.
func eventLines(line string, sequence uint64, s grid.Style) []string {
	at, rest, timed := strings.Cut(line, "  ")
	about, what, _ := strings.Cut(rest, "  ")
	if !timed || !isEventTime(at) {
		return grid.Fold(line, s.Width, 0) // not an event's line
	}
	if s.All {
		return []string{fmt.Sprintf("%8d  %s", sequence, line)}
	}
	lines := grid.Fold(line, s.Width, len(at)+2)
	if !s.Colour {
		return lines
	}
	word, _, _ := strings.Cut(what, " ")
	lines[0] = strings.Replace(lines[0], at, grid.Quiet.Paint(at), 1)
	if begin := len(at) + 2 + len(about) + 2; eventMood(word) != grid.Neutral && strings.Contains(line[begin:], word) {
		lines[0] = strings.Replace(lines[0], "  "+word, "  "+eventMood(word).Paint(word), 1)
	}
	return lines
}
