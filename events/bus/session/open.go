package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
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
	return open(ctx, b, inboxFor(b.NewInbox(), subject), subject, body)
}

// OpenAs is Open for a session of ServeOwn.
func OpenAs(ctx context.Context, b bus.Bus, owner, subject string, body []byte) (*Conn, error) {
	return open(ctx, b, below(owner)+"_."+rand.Text(), subject, body) // _ is not the name of a node
}

// below is where sessions of the owner are heard.
func below(owner string) string { return events.SessionRoot + "." + owner + "." }

func open(ctx context.Context, b bus.Bus, inbox, subject string, body []byte) (*Conn, error) {
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	heard, err := b.Subscribe(inbox)
	if err != nil {
		return nil, err
	}
	answer, err := b.Request(opening, events.Message{Subject: subject, Header: events.Header{headerReply: {inbox}}, Body: body})
	if err == nil {
		err = bus.Refused(answer)
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

// inboxFor is where the client of an inbox, as _INBOX.ann.1, hears a session on the subject: as rookery.session.ann.edge-1.1 for one below
// rookery.node.edge-1. So permissions can hold a node to sessions of its own.
func inboxFor(inbox, subject string) string {
	const root, served, rest = 2, 3, 4 // words of the subject
	unique := strings.Split(inbox, ".")[1:]
	if words := strings.SplitN(subject, ".", rest); len(words) >= served {
		unique = slices.Insert(unique, len(unique)-1, words[root])
	}
	return events.SessionRoot + "." + strings.Join(unique, ".")
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
	bus bus.Bus
	// most is how many are open at once, and mostBelow how many that are heard below one subject.
	most, mostBelow int
	// within returns the subject, with a dot, below which a session that is opened on this one must be heard.
	within  func(subject string) string
	handle  Handler
	ctx     context.Context
	serving sync.WaitGroup

	mu   sync.Mutex
	open int
	of   map[string]int // those below each subject
}

// mostOfOwner is how many sessions of one owner are open at once.
const mostOfOwner = 8

// Serve serves sessions on the subjects, so many at once at most, until stop is called; stop ends all that are open, and returns when
// that is done.
func Serve(b bus.Bus, subjects []string, most int, handle Handler) (stop func(), err error) {
	within := func(string) string { return events.SessionRoot + "." }
	return (&server{bus: b, most: most, mostBelow: most, within: within, handle: handle}).begin(subjects)
}

// ServeOwn is Serve for sessions that are heard below the name of their owner alone, by the subject on which they are opened. An owner has a few
// of them at most.
func ServeOwn(b bus.Bus, subject string, most int, owner func(subject string) string, handle Handler) (stop func(), err error) {
	within := func(subject string) string { return below(owner(subject)) }
	return (&server{bus: b, most: most, mostBelow: mostOfOwner, within: within, handle: handle}).begin([]string{subject})
}

func (s *server) begin(subjects []string) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	s.ctx, s.of = ctx, map[string]int{}
	begins := make([]func() (func(), error), len(subjects))
	for i, subject := range subjects {
		begins[i] = func() (func(), error) { return s.bus.Answer(subject, s.answer) }
	}
	ignore, err := bus.Begin(begins...)
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
	inbox, within := m.Header.Get(headerReply), s.within(m.Subject)
	if rest, ok := strings.CutPrefix(inbox, within); !ok || rest == "" || strings.ContainsAny(rest, " \t\r\n*>") {
		return bus.Refuse(events.Message{}, &bus.QuestionError{Code: 400, Reason: fmt.Sprintf("the header %s must name a subject below %s", headerReply, within)}), nil
	}
	if err := s.enter(within); err != nil {
		return bus.Refuse(events.Message{}, err), nil
	}
	own := m.Subject + "." + rand.Text()
	s.serving.Go(func() {
		defer s.leave(within)
		s.serve(own, inbox, m)
	})
	return events.Message{Header: events.Header{headerSession: {own}}}, nil
}

// enter counts a session that begins, or refuses it.
func (s *server) enter(within string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.most || s.of[within] >= s.mostBelow {
		return &bus.QuestionError{Code: 429, Reason: "the maximum of sessions is open here: end one, or try again later"}
	}
	s.open++
	s.of[within]++
	return nil
}

func (s *server) leave(within string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.of[within]--; s.of[within] == 0 {
		delete(s.of, within)
	}
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
