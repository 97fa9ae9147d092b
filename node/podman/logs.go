package podman

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// Logs hands over the lines of the main container's log. Podman's file of it is bounded: a reader who is held up for longer than it takes
// to fill misses lines.
func (e *Engine) Logs(ctx context.Context, c node.Container, asked events.LogsRequest, line func(events.LogLine) error) error {
	query := url.Values{
		"stdout": {"true"}, "stderr": {"true"}, "timestamps": {"true"}, "follow": {strconv.FormatBool(asked.Follow)},
	}
	if asked.Tail != nil {
		query.Set("tail", strconv.Itoa(*asked.Tail))
	}
	if !asked.Since.IsZero() {
		// Podman gives what is later than a whole second; what is too early is left out below.
		query.Set("since", strconv.FormatInt(asked.Since.Unix()-1, 10))
	}
	answer, err := e.open(ctx, request{method: http.MethodGet, path: containerPath(c.Handle, "/logs"), query: query})
	if err != nil {
		return fmt.Errorf("reading the log of container %s: %w", c.Handle, err)
	}
	defer func() { _ = answer.Body.Close() }() // read as far as it is wanted
	err = eachLine(answer.Body, func(l events.LogLine) error {
		if early(l.Time, asked.Since) {
			return nil
		}
		return line(l)
	})
	if err != nil {
		return fmt.Errorf("reading the log of container %s: %w", c.Handle, err)
	}
	return nil
}

// early reports whether a line is of a time before since. An old Podman tells of whole seconds alone.
func early(at, since time.Time) bool {
	if at.Nanosecond() == 0 {
		since = since.Truncate(time.Second)
	}
	return at.Before(since)
}

// eachLine reads a log to its end. Podman has each part of a line in a frame, with its time before it; the last part ends the line.
func eachLine(log io.Reader, line func(events.LogLine) error) error {
	var header [frameHeader]byte
	begun := map[events.Stream]*events.LogLine{}
	for {
		if _, err := io.ReadFull(log, header[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		length := binary.BigEndian.Uint32(header[frameHeader-4:])
		if length > maxLog {
			return fmt.Errorf("a part of %d bytes is longer than a log", length)
		}
		part := make([]byte, length)
		if _, err := io.ReadFull(log, part); err != nil {
			return err
		}
		stream := streamOf(header[0])
		at, text, _ := bytes.Cut(part, []byte{' '})
		l := begun[stream]
		if l == nil {
			t, err := time.Parse(time.RFC3339Nano, string(at))
			if err != nil {
				return fmt.Errorf("a line has no time: %w", err)
			}
			l = &events.LogLine{Time: t, Stream: stream}
			begun[stream] = l
		}
		text, whole := bytes.CutSuffix(text, []byte{'\n'})
		// One byte more than a line may have, which says that it was cut.
		l.Text += string(text[:min(len(text), events.MaxLogLine+1-len(l.Text))])
		if !whole {
			continue
		}
		delete(begun, stream)
		if err := line(*l); err != nil {
			return err
		}
	}
}

// streamOf returns the stream of a frame's first byte.
func streamOf(b byte) events.Stream {
	const stderr = 2
	if b == stderr {
		return events.Stderr
	}
	return events.Stdout
}
