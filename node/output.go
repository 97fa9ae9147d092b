package node

import (
	"bytes"

	"github.com/rookery-project/rookery/events"
)

// LastLines returns the last lines of what a container has printed: at most events.MaxOutputLines lines and events.MaxOutput bytes. A
// line longer than events.MaxOutput loses its beginning.
func LastLines(text []byte) []byte {
	if cut := len(text) - events.MaxOutput; cut > 0 {
		whole := text[cut-1] == '\n'
		text = text[cut:]
		if _, after, more := bytes.Cut(text, []byte{'\n'}); !whole && more && len(after) > 0 {
			text = after
		}
	}
	end := len(bytes.TrimSuffix(text, []byte{'\n'}))
	for range events.MaxOutputLines {
		if end = bytes.LastIndexByte(text[:end], '\n'); end < 0 {
			return text
		}
	}
	return text[end+1:]
}

// Failing returns the container that made the instance go offline, by its end or by a failing health check. It reports false if no
// container has run: then there is no output.
func (v View) Failing() (Container, bool) {
	if v.Phase != events.PhaseOffline || v.Container == nil || !v.Reason.HasRun() {
		return Container{}, false
	}
	return *v.Container, true
}

// Kept returns the view after the node stored the last lines of a container under the key. It changes nothing if the instance has
// moved on since: then the lines belong to an attempt that is over.
func (v View) Kept(c Container, key string) View {
	if failing, ok := v.Failing(); ok && failing.Handle == c.Handle {
		v.Output = key
	}
	return v
}
