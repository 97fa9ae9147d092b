package supply

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/rookery-project/rookery/events/bus/session"
)

// The frames of a stream of bytes. The last is frameWhole where it goes to the leader, which answers with the end of the session; the leader
// ends the session behind its own last.
const (
	frameBytes = "bytes"
	frameWhole = "whole"
)

// progressWithin is how long an end waits for the other to send or take something.
const progressWithin = 30 * time.Second

// receive takes the next frame.
func receive(ctx context.Context, c *session.Conn) (session.Frame, error) {
	ctx, cancel := context.WithTimeout(ctx, progressWithin)
	defer cancel()
	return c.Receive(ctx)
}

// send sends all of the content, and that it was all.
func send(ctx context.Context, c *session.Conn, content io.Reader) error {
	if _, err := io.Copy(writer{ctx, c}, content); err != nil {
		return err
	}
	return c.Send(ctx, frameWhole, nil)
}

// writer sends what is written.
type writer struct {
	ctx context.Context
	c   *session.Conn
}

// Write implements io.Writer.
func (w writer) Write(p []byte) (int, error) {
	ctx, cancel := context.WithTimeout(w.ctx, progressWithin)
	defer cancel()
	if err := w.c.Send(ctx, frameBytes, bytes.Clone(p)); err != nil { // the caller may use p again
		return 0, err
	}
	return len(p), nil
}

// reader reads what the leader sends until it ends the session.
type reader struct {
	ctx  context.Context
	c    *session.Conn
	rest []byte
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		f, err := receive(r.ctx, r.c)
		if err != nil {
			return 0, fromWire(err)
		}
		r.rest = f.Body
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close ends the session.
func (r *reader) Close() error {
	r.c.Close(nil, nil)
	return nil
}

// upload reads what a node sends until it says that this was all.
type upload struct {
	reader
	whole bool
}

// Read implements io.Reader.
func (u *upload) Read(p []byte) (int, error) {
	for len(u.rest) == 0 && !u.whole {
		f, err := receive(u.ctx, u.c)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		u.rest, u.whole = f.Body, f.Kind == frameWhole
	}
	if u.whole {
		return 0, io.EOF
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}
