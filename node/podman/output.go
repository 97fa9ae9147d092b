package podman

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

const (
	// frameHeader is how many bytes stand before each part of a log, with the length of the part at its end.
	frameHeader = 8
	// maxLog bounds what is read of a log: more than a container's log can have.
	maxLog = 4 * logSize
)

// Output returns the last lines that the container has printed, on both its streams. Of one that has ended with a
// sidecar, they are the sidecar's.
func (e *Engine) Output(ctx context.Context, c node.Container) ([]byte, error) {
	handle := c.Handle
	for _, name := range c.Sidecars {
		if c.Ended != "" && strings.HasSuffix(name, "."+c.Ended) {
			handle = name
		}
	}
	answer, err := e.open(ctx, request{method: http.MethodGet, path: containerPath(handle, "/logs"), query: url.Values{
		"stdout": {"true"}, "stderr": {"true"}, "tail": {strconv.Itoa(events.MaxOutputLines)},
	}})
	if err != nil {
		return nil, fmt.Errorf("reading the log of container %s: %w", handle, err)
	}
	defer func() { _ = answer.Body.Close() }() // read below, as far as it goes
	text, err := lastParts(io.LimitReader(answer.Body, maxLog))
	if err != nil {
		return nil, fmt.Errorf("reading the log of container %s: %w", handle, err)
	}
	return node.LastLines(text), nil
}

// lastParts reads a log to its end, and returns enough of its end for what is kept.
func lastParts(log io.Reader) ([]byte, error) {
	const enough = 2 * events.MaxOutput
	var last []byte
	var header [frameHeader]byte
	for {
		if _, err := io.ReadFull(log, header[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return last, nil
			}
			return nil, err
		}
		length := int64(binary.BigEndian.Uint32(header[frameHeader-4:]))
		if length > maxLog {
			return nil, fmt.Errorf("a part of %d bytes is longer than a log", length)
		}
		part, err := io.ReadAll(io.LimitReader(log, length))
		if err != nil {
			return nil, err
		}
		if int64(len(part)) < length {
			return nil, io.ErrUnexpectedEOF
		}
		last = append(last, part...)
		if cut := len(last) - enough; cut > 0 {
			last = append(last[:0], last[cut:]...)
		}
	}
}
