package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events"
)

// headerSequence is where the server says which sequence a republished message was stored under.
const headerSequence = "Nats-Sequence"

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

// forbidden reports whether the server's last word says that this connection may not publish to the subject. The server sends that apart
// from the request, which itself ends without an answer.
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
