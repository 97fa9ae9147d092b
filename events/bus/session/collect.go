package session

import (
	"context"
	"errors"
	"io"
)

// Collect takes all frames of the kind until the other end has ended the session well, and returns their bodies as one: no more than
// the last that are together at least this long, and whether there were others before. Where the session ends otherwise it returns what
// has come, and why.
func Collect(ctx context.Context, c *Conn, kind string, most int) (body []byte, cut bool, err error) {
	var parts [][]byte
	size := 0
	for {
		f, err := c.Receive(ctx)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			body = make([]byte, 0, size)
			for _, p := range parts {
				body = append(body, p...)
			}
			return body, cut, err
		}
		if f.Kind != kind {
			continue
		}
		parts, size = append(parts, f.Body), size+len(f.Body)
		for size-len(parts[0]) >= most {
			parts, size, cut = parts[1:], size-len(parts[0]), true
		}
	}
}
