package grid

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Fold returns a text in lines of no more than this many cells, broken between words, or behind
// a comma, where that can be; those behind the first
// begin below the cell of this number. Width 0 has it be one line.
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

// broken returns as much of a text as has room in this many cells, and the rest.
func broken(text string, room int) (line, rest string) {
	line = ansi.Truncate(text, room, "")
	if line == "" { // one character alone is wider
		line = string([]rune(text)[:1])
		return "", text[len(line):]
	}
	rest = text[len(line):]
	end := strings.LastIndexByte(line, ' ')
	if comma := strings.LastIndexByte(line, ',') + 1; end < len(line)/2 && comma > len(line)/2 { // as in JSON, which has no words
		end = comma
	}
	if end > 0 && strings.TrimLeft(line[:end], " ") != "" && !strings.HasPrefix(rest, " ") {
		line, rest = line[:end], text[end:]
	}
	return strings.TrimRight(line, " "), rest
}
