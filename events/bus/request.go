package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/rookery-project/rookery/events"
)

// headerSequence is where the server says which sequence a republished message was stored under.
const headerSequence = "Nats-Sequence"

// answersAtOnce is how many questions are answered at once; more of them wait.
const answersAtOnce = 64

func storedSequence(h nats.Header) uint64 {
	sequence, err := strconv.ParseUint(h.Get(headerSequence), 10, 64)
	if err != nil {
		return 0 // not a republished message
	}
	return sequence
}

// Send implements Bus.
func (b *JetStream) Send(m events.Message) error {
	if err := b.conn.PublishMsg(toNATS(m)); err != nil {
		return fmt.Errorf("send to %s: %w", m.Subject, translate(err))
	}
	return nil
}

// Request implements Bus.
func (b *JetStream) Request(ctx context.Context, m events.Message) (events.Message, error) {
	answer, err := b.conn.RequestMsgWithContext(ctx, toNATS(m))
	if err != nil && b.forbidden(m.Subject) {
		return events.Message{}, fmt.Errorf("ask %s: %w", m.Subject, ErrForbidden)
	}
	if err != nil {
		return events.Message{}, fmt.Errorf("ask %s: %w: %w", m.Subject, ErrNoAnswer, err)
	}
	return fromNATS(answer), nil
}

// forbidden reports whether the server has said last that the permissions of this connection do not allow to publish to the subject. It
// says so beside the request, which ends as one that nobody answers.
func (b *JetStream) forbidden(subject string) bool {
	err := b.conn.LastError()
	return errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(strings.ToLower(err.Error()), `publish to "`+strings.ToLower(subject)+`"`)
}

// NewInbox implements Bus, below the prefix that the connection was made with.
func (b *JetStream) NewInbox() string { return b.conn.NewInbox() }

// Answer implements Bus.
func (b *JetStream) Answer(subject string, answer func(events.Message) (events.Message, error)) (func(), error) {
	ended := make(chan struct{})
	sub, err := b.conn.Subscribe(subject, func(msg *nats.Msg) {
		if !answerable(msg.Reply) {
			return
		}
		reply, err := answer(fromNATS(msg))
		if err != nil {
			return // who asked hears nothing, and asks again
		}
		reply.Subject = msg.Reply
		if err := b.conn.PublishMsg(toNATS(reply)); err != nil {
			return // the connection is gone, and who asked with it
		}
	})
	if err != nil {
		return nil, fmt.Errorf("answer on %s: %w", subject, err)
	}
	sub.SetClosedHandler(func(string) { close(ended) })
	return func() {
		if err := sub.Unsubscribe(); err != nil {
			return // the connection is closed, and the subscription with it
		}
		<-ended
	}, nil
}

// Serve implements Bus with a NATS micro service, so that `nats micro ls` finds it.
func (b *JetStream) Serve(questions map[string]Question) (func(), error) {
	service, err := micro.AddService(b.conn, micro.Config{
		Name: "rookery", Version: "0.1.0", Description: "Questions about a Rookery cluster.",
	})
	if err != nil {
		return nil, fmt.Errorf("serve questions: %w", err)
	}
	// The service itself does not wait for answers under way: it drains its subscriptions in the background.
	var gate sync.RWMutex
	stopped := false
	under := make(chan struct{}, answersAtOnce)
	for _, name := range slices.Sorted(maps.Keys(questions)) { // people are told of them in this order
		question := questions[name]
		handler := micro.HandlerFunc(func(r micro.Request) {
			if !answerable(r.Reply()) {
				return
			}
			under <- struct{}{}
			gate.RLock() // until the answer is given: who stops the service waits for that
			go func() {  // one that takes long holds up no other
				defer func() { <-under }()
				defer gate.RUnlock()
				if !stopped {
					respond(r, question)
				}
			}()
		})
		if err := service.AddEndpoint(name, handler, micro.WithEndpointSubject(events.APIRoot+"."+name)); err != nil {
			return nil, errors.Join(fmt.Errorf("serve question %s: %w", name, err), service.Stop())
		}
	}
	return func() {
		err := service.Stop()
		gate.Lock()
		defer gate.Unlock()
		stopped = true
		if err != nil {
			return // the connection is closed, and the service with it
		}
	}, nil
}

// refuse answers with an error. The request's own Error would tell the service, which has gone on by now, too.
func refuse(r micro.Request, err error) error {
	return r.Respond(errorBody(err), micro.WithHeaders(micro.Headers{HeaderErrorCode: {strconv.Itoa(CodeOf(err))}, HeaderError: {err.Error()}}))
}

func respond(r micro.Request, question Question) {
	answer, err := question(r.Data())
	if err == nil {
		err = inParts(r, answer)
	} else {
		err = refuse(r, err)
	}
	if err != nil {
		return // the connection is gone, and who asked with it
	}
}
