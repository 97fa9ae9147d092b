package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

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
	ctx, done := b.denials.until(ctx, m.Subject)
	defer done()
	answer, err := b.conn.RequestMsgWithContext(ctx, toNATS(m))
	if err != nil && forbidden(ctx) {
		return events.Message{}, fmt.Errorf("ask %s: %w", m.Subject, ErrForbidden)
	}
	if err != nil {
		return events.Message{}, fmt.Errorf("ask %s: %w: %w", m.Subject, ErrNoAnswer, err)
	}
	return fromNATS(answer), nil
}

// askAll asks all that answer on the subject, and calls each with the answers that come in this time, until that reports false.
func (b *JetStream) askAll(ctx context.Context, subject string, within time.Duration, each func(*nats.Msg) (more bool)) error {
	inbox := b.conn.NewInbox()
	answers, err := b.conn.SubscribeSync(inbox)
	if err != nil {
		return translate(err)
	}
	defer func() { _ = answers.Unsubscribe() }() // fails only if the connection has ended
	if err := b.conn.PublishRequest(subject, inbox, nil); err != nil {
		return translate(err)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		m, err := answers.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return nil
		case err != nil:
			return translate(err)
		case !each(m):
			return nil
		}
	}
}

// NewInbox implements Bus, below the prefix that the connection was made with.
func (b *JetStream) NewInbox() string { return b.conn.NewInbox() }

// Answer implements Bus. It answers several requests at once.
func (b *JetStream) Answer(subject string, answer func(events.Message) (events.Message, error)) (func(), error) {
	ended, under := make(chan struct{}), make(chan struct{}, answersAtOnce)
	var answers sync.WaitGroup
	sub, err := b.conn.Subscribe(subject, func(msg *nats.Msg) {
		if !answerable(msg.Reply) {
			return
		}
		under <- struct{}{}
		answers.Go(func() {
			defer func() { <-under }()
			reply, err := answer(fromNATS(msg))
			if err != nil {
				return // who asked hears nothing, and asks again
			}
			reply.Subject = msg.Reply
			if err := b.conn.PublishMsg(toNATS(reply)); err != nil {
				return // the connection is gone, and who asked with it
			}
		})
	})
	if err != nil {
		return nil, fmt.Errorf("answer on %s: %w", subject, err)
	}
	sub.SetClosedHandler(func(string) { close(ended) })
	return func() {
		if err := sub.Unsubscribe(); err == nil { // else the connection is closed, and the subscription with it
			<-ended
		}
		answers.Wait()
	}, nil
}
