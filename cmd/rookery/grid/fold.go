package grid

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Fold wraps a text to lines of at most width cells. It breaks between words or behind a comma if it can. All lines after the first
// are indented to the given cell. Width 0 returns one line.
func Fold(text string, screen, below int) []string {
	text = clean(text)
	if screen == 0 {
		return []string{text}
	}
	indent := ""
	var lines []string
	for width(indent+text) > screen {
		line, rest := broken(text, screen-width(indent))
		lines = append(lines, indent+line)
		text = strings.TrimLeft(rest, " ")
		indent = strings.Repeat(" ", min(below, screen/2))
	}
	return append(lines, indent+text)
}

// broken returns as much of a text as fits into this many cells, and the rest.
func broken(text string, room int) (line, rest string) {
	line = ansi.Truncate(text, room, "")
	if line == "" { // even one character is wider
		line = string([]rune(text)[:1])
		return "", text[len(line):]
	}
	rest = text[len(line):]
	end := strings.LastIndexByte(line, ' ')
	if comma := strings.LastIndexByte(line, ',') + 1; end < len(line)/2 && comma > len(line)/2 { // as in JSON, which has few spaces
		end = comma
	}
	if end > 0 && strings.TrimLeft(line[:end], " ") != "" && !strings.HasPrefix(rest, " ") {
		line, rest = line[:end], text[end:]
	}
	return strings.TrimRight(line, " "), rest
}
