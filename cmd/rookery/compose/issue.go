package compose

import (
	"fmt"
	"strings"
)

// Issue is one thing in a Compose file that Rookery does not do, or does otherwise.
type Issue struct {
	// File and Line are where it stands; Line is 0 where that is not known.
	File string `json:"file"`
	Line int    `json:"line,omitzero"`
	// Service is the one that it is of; empty for what is of the project.
	Service string `json:"service,omitempty"`
	// Key is its path, as in services.web.ports[0].published.
	Key string `json:"key"`
	// Wanted is the value, where it is short and no secret.
	Wanted string `json:"wanted,omitempty"`
	// Instead says what Rookery does, and what to do.
	Instead string `json:"instead"`
}

// String tells people, in one line.
func (i Issue) String() string {
	var text strings.Builder
	text.WriteString(i.File)
	if i.Line > 0 {
		fmt.Fprintf(&text, ":%d", i.Line)
	}
	text.WriteString(": ")
	if i.Service != "" {
		fmt.Fprintf(&text, "service %s: ", i.Service)
	}
	text.WriteString(i.Key)
	if i.Wanted != "" {
		fmt.Fprintf(&text, " is %s", i.Wanted)
	}
	return text.String() + ": " + i.Instead
}

// maxShown bounds how much of a value people are shown.
const maxShown = 60

// shown writes a scalar or a list of them in a line; nothing for what is larger, in which anything may stand.
func shown(value any) string {
	switch v := value.(type) {
	case map[string]any, nil:
		return ""
	case []any:
		words := make([]string, len(v))
		for i, entry := range v {
			if words[i] = shown(entry); words[i] == "" {
				return ""
			}
		}
		return cut("[" + strings.Join(words, ", ") + "]")
	case string:
		return cut(fmt.Sprintf("%q", v))
	}
	return cut(fmt.Sprint(value))
}

func cut(text string) string {
	if len(text) > maxShown {
		return ""
	}
	return text
}
