package events

import (
	"strings"
	"time"
)

// Message is one message of the bus: what is to be published, or what was stored.
type Message struct {
	Subject string
	Header  Header
	Body    []byte
	// Sequence and Time are the stream's; zero before the message is stored.
	Sequence uint64
	Time     time.Time
}

// Header holds the headers of a message. Names are compared in any case.
type Header map[string][]string

// Get returns the first value of the header, or "". Where several names differ in case alone, the exact one counts,
// else the first in order.
func (h Header) Get(name string) string {
	if v, ok := h[name]; ok && len(v) > 0 {
		return v[0]
	}
	found, value := "", ""
	for k, v := range h {
		if len(v) > 0 && len(k) == len(name) && strings.EqualFold(k, name) && (found == "" || k < found) {
			found, value = k, v[0]
		}
	}
	return value
}

// reader returns how the headers are read: at once where they are as Rookery writes them, else in any case.
func (h Header) reader() func(name string) string {
	if h.own(headerType) != "" {
		return h.own
	}
	return h.Get
}

// own returns the first value of a header that Rookery wrote, and so in this case, or "".
func (h Header) own(name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}
