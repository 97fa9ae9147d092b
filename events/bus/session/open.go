package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// openTimeout bounds how long the opening of a session takes.
const openTimeout = 5 * time.Second

// Open opens a session with the process that serves the subject, and returns once that process is ready. It returns the *bus.QuestionError
// with which that refuses, or an error that is bus.ErrNoAnswer where no process serves the subject. The session ends with Close, or with
// the context.
func Open(ctx context.Context, b bus.Bus, subject string, body []byte) (*Conn, error) {
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	_, unique, _ := strings.Cut(b.NewInbox(), ".") // with the client's prefix, as ann.… of _INBOX.ann.…
	inbox := events.SessionRoot + "." + unique
	heard, err := b.Subscribe(inbox)
	if err != nil {
		return nil, err
	}
	answer, err := b.Request(opening, events.Message{Subject: subject, Header: events.Header{headerReply: {inbox}}, Body: body})
	if err == nil && answer.Header.Get(bus.HeaderErrorCode) != "" {
		err = reason(answer)
	}
	to := answer.Header.Get(headerSession)
	if err == nil && !strings.HasPrefix(to, subject+".") {
		err = fmt.Errorf("the answer on %s opens no session", subject)
	}
	if err != nil {
		heard.Stop()
		return nil, err
	}
	// This end listens before it asks: it misses no frame of the other end.
	if err := ready(opening, heard); err != nil {
		heard.Stop()
		return nil, fmt.Errorf("open a session on %s: %w", subject, err)
	}
	return begin(ctx, b, heard, to), nil
}

// ready waits for the first frame.
func ready(ctx context.Context, heard bus.Subscription) error {
	select {
	case m := <-heard.Messages():
		switch m.Header.Get(headerFrame) {
		case frameReady:
			return nil
		case frameEnd:
			return reason(m)
		}
		return ErrGap
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", bus.ErrNoAnswer, ctx.Err())
	}
}

// Handler has a session that was opened with the message, until it returns: the result for the other end, or the error. Its context ends
// with the session.
type Handler func(ctx context.Context, c *Conn, opened events.Message) (result []byte, err error)

// server serves sessions.
type server struct {
	bus     bus.Bus
	most    int
	handle  Handler
	ctx     context.Context
	serving sync.WaitGroup

	mu   sync.Mutex
	open int
}

// Serve serves sessions on the subjects, so many at once at most, until stop is called; stop ends all that are open, and returns when
// that is done.
func Serve(b bus.Bus, subjects string, most int, handle Handler) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{bus: b, most: most, handle: handle, ctx: ctx}
	ignore, err := b.Answer(subjects, s.answer)
	if err != nil {
		cancel()
		return nil, err
	}
	return func() {
		ignore()
		cancel()
		s.serving.Wait()
	}, nil
}

// answer begins a session and waits for nothing of it.
func (s *server) answer(m events.Message) (events.Message, error) {
	inbox := m.Header.Get(headerReply)
	if below, ok := strings.CutPrefix(inbox, events.SessionRoot+"."); !ok || below == "" || strings.ContainsAny(below, " \t\r\n*>") {
		return refused(&bus.QuestionError{Code: 400, Reason: fmt.Sprintf("the header %s must name a subject below %s, as %[2]s.ann.1", headerReply, events.SessionRoot)}), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.most {
		return refused(&bus.QuestionError{Code: 429, Reason: fmt.Sprintf("%d sessions are open here, the maximum: end one, or try again later", s.most)}), nil
	}
	s.open++
	own := m.Subject + "." + rand.Text()
	s.serving.Go(func() {
		s.serve(own, inbox, m)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
	})
	return events.Message{Header: events.Header{headerSession: {own}}}, nil
}

func refused(err error) events.Message {
	return events.Message{Header: events.Header{
		bus.HeaderErrorCode: {strconv.Itoa(bus.CodeOf(err))}, bus.HeaderError: {err.Error()},
	}}
}

func (s *server) serve(own, inbox string, m events.Message) {
	heard, err := s.bus.Subscribe(own)
	if err != nil {
		return // the connection is gone, and who asked has no answer
	}
	c := begin(s.ctx, s.bus, heard, inbox)
	if err := c.say(frameReady, headerNumber, 0, nil); err != nil {
		c.Close(nil, err)
		return
	}
	result, err := s.handle(c.ctx, c, m)
	switch {
	case errors.Is(err, io.EOF):
		err = nil
	case s.ctx.Err() != nil:
		err = &bus.QuestionError{Code: 503, Reason: "the process that served this session ends"}
	}
	c.Close(result, err)
}
