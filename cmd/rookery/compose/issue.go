package compose

import (
	"fmt"
	"strings"
)

// Issue is a key of a Compose file that Rookery does not support, or that works differently than in Compose.
type Issue struct {
	// File and Line are its place; Line is 0 if it is unknown.
	File string `json:"file"`
	Line int    `json:"line,omitzero"`
	// Service is its service; empty for a key of the project.
	Service string `json:"service,omitempty"`
	// Key is its path, as in services.web.ports[0].published.
	Key string `json:"key"`
	// Wanted is the value, if it is short and not a secret.
	Wanted string `json:"wanted,omitempty"`
	// Instead says what Rookery does, and what the operator can do.
	Instead string `json:"instead"`
}

// String returns the issue as one line for operators.
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

// maxShown bounds the part of a value that an issue shows.
const maxShown = 60

// shown formats a scalar or a list of scalars in one line. It returns nothing for a larger value, which could contain anything.
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
