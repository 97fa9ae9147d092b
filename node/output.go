package node

import (
	"bytes"

	"github.com/rookery-project/rookery/events"
)

// LastLines returns what is to be kept of what a container has printed: its last lines, and no more of them than are
// kept. A line that is longer than all that is kept loses its beginning.
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

// Failing returns the container whose end, or failing health check, has the instance be offline. It reports false where
// none has run: then nothing was printed.
func (v View) Failing() (Container, bool) {
	if v.Phase != events.PhaseOffline || v.Container == nil || !v.Reason.HasRun() {
		return Container{}, false
	}
	return *v.Container, true
}

// Kept returns the view after the last lines of a container were kept under the key. Where the instance has gone on
// since, they are those of an attempt that is over.
func (v View) Kept(c Container, key string) View {
	if failing, ok := v.Failing(); ok && failing.Handle == c.Handle {
		v.Output = key
	}
	return v
}
