package session

import (
	"errors"
	"io"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// FuzzFrames takes messages of any kind from the other end. The frames that wait to be received stay within the window.
func FuzzFrames(f *testing.F) {
	f.Add("bytes", "1", "", "", []byte("x"))
	f.Add(frameAck, "", "17", "", []byte(nil))
	f.Add(frameEnd, "0", "", "404", []byte("{}"))
	f.Add(frameEnd, "1", "", "x", []byte(nil))
	f.Add("", "18446744073709551616", "-1", "", make([]byte, MaxFrame+1))
	f.Fuzz(func(t *testing.T, kind, number, taken, code string, body []byte) {
		c := &Conn{changed: make(chan struct{}), sent: 100}
		m := events.Message{Body: body, Header: events.Header{
			headerFrame: {kind}, headerNumber: {number}, headerTaken: {taken}, bus.HeaderErrorCode: {code},
		}}
		for range 8 {
			ended := c.take(m)
			switch {
			case ended != (c.err != nil):
				t.Fatalf("it has ended: %t, with %v", ended, c.err)
			case c.queued > Window+MaxFrame, c.acked > c.sent, uint64(len(c.queue)) != c.came:
				t.Fatalf("%d bytes in %d frames wait, of %d; %d of %d bytes are acknowledged", c.queued, len(c.queue), c.came, c.acked, c.sent)
			}
		}
		if c.ended && errors.Is(c.err, io.EOF) && number != "0" && len(c.queue) == 0 {
			t.Fatalf("it ended well behind frame %s, and none came", number)
		}
	})
}
