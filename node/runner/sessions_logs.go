package runner

import (
	"context"
	"errors"
	"sync"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/session"
)

const (
	// linesAhead is how many lines the node reads ahead of those that it sends, so that many fit in one frame.
	linesAhead = 16
	// enoughLines is after how many bytes of lines a frame is full. Its last line may exceed that.
	enoughLines = 8 << 10
)

// serveLogs sends the output of an instance's container: a frame that names the container, then its lines. A slow client delays the
// reading, and then misses lines that the engine no longer keeps.
func (a *Agent) serveLogs(ctx context.Context, s *session.Conn, opened events.Message) ([]byte, error) {
	asked, err := events.ParseLogsRequest(opened.Body)
	if err != nil {
		return nil, &bus.QuestionError{Code: 400, Reason: err.Error()}
	}
	c, err := a.sought(ctx, opened)
	if err != nil {
		return nil, err
	}
	if err := s.Send(ctx, events.FrameContainer, []byte(c.Handle)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	lines := make(chan events.LogLine, linesAhead)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	var failed error
	reading.Go(func() {
		defer close(lines)
		failed = a.Engine.Logs(ctx, c, asked, func(l events.LogLine) error {
			select {
			case lines <- l:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	if err := sendLines(ctx, s, lines); err != nil {
		return nil, err
	}
	return nil, told(failed) // failed is set before lines is closed
}

// sendLines sends the lines until the channel is closed. Lines that are ready together go in one frame.
func sendLines(ctx context.Context, s *session.Conn, lines <-chan events.LogLine) error {
	errNoMore := errors.New("the last line was read")
	var body []byte
	next := func(l events.LogLine, ok bool) error {
		if !ok {
			return errNoMore
		}
		body = l.AppendTo(body)
		return nil
	}
	for {
		l, ok := <-lines
		err := next(l, ok)
		for more := true; more && err == nil && len(body) < enoughLines; {
			select {
			case l, ok := <-lines:
				err = next(l, ok)
			default:
				more = false
			}
		}
		if len(body) > 0 {
			if err := s.Send(ctx, events.FrameLines, body); err != nil {
				return err
			}
		}
		if errors.Is(err, errNoMore) {
			return nil
		}
		body = body[:0:0]
	}
}
