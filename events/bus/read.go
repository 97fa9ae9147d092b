package bus

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rookery-project/rookery/events"
)

// waiting is how many messages a reader or a subscription holds for a slow listener.
const waiting = 4096

// forgottenAfter is how long the server keeps the consumer of a reader that has stopped. A stream has at most 1,000 consumers.
const forgottenAfter = 10 * time.Second

// reader pumps an ordered consumer into a channel. The consumer starts again by itself after a lost connection.
type reader struct {
	messages chan events.Message
	stop     chan struct{}
	ended    chan struct{}
	iterator jetstream.MessagesContext
}

// Read implements Bus.
func (b *JetStream) Read(ctx context.Context, stream Stream, from uint64) (Reader, error) {
	consumer, err := b.js.OrderedConsumer(ctx, string(stream), jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(from, 1), InactiveThreshold: forgottenAfter,
	})
	if err != nil {
		return nil, fmt.Errorf("read %s from %d: %w", stream, from, translate(err))
	}
	iterator, err := consumer.Messages(jetstream.PullMaxMessages(waiting))
	if err != nil {
		return nil, fmt.Errorf("read %s from %d: %w", stream, from, translate(err))
	}
	r := &reader{
		messages: make(chan events.Message, waiting), stop: make(chan struct{}), ended: make(chan struct{}), iterator: iterator,
	}
	go r.pump()
	return r, nil
}

func (r *reader) pump() {
	defer close(r.ended)
	defer close(r.messages)
	for {
		msg, err := r.iterator.Next()
		if err != nil {
			return
		}
		meta, err := msg.Metadata()
		if err != nil {
			return
		}
		m := events.Message{
			Subject: msg.Subject(), Header: events.Header(msg.Headers()), Body: msg.Data(),
			Sequence: meta.Sequence.Stream, Time: meta.Timestamp,
		}
		select {
		case r.messages <- m:
		case <-r.stop:
			return
		}
	}
}

// Messages implements Reader.
func (r *reader) Messages() <-chan events.Message { return r.messages }

// Stop implements Reader.
func (r *reader) Stop() {
	close(r.stop)
	r.iterator.Stop()
	<-r.ended
}

// subscription hands messages of a core subscription to a channel.
type subscription struct {
	messages chan events.Message
	stop     chan struct{}
	ended    chan struct{}
	nats     *nats.Subscription
}

// Subscribe implements Bus.
func (b *JetStream) Subscribe(subject string) (Subscription, error) {
	s := &subscription{messages: make(chan events.Message, waiting), stop: make(chan struct{}), ended: make(chan struct{})}
	sub, err := b.conn.Subscribe(subject, func(msg *nats.Msg) {
		select {
		case s.messages <- fromNATS(msg):
		case <-s.stop:
		}
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	s.nats = sub
	sub.SetClosedHandler(func(string) { close(s.ended) })
	// A connection that breaks just now brings the subscription along when it stands again.
	if err := b.conn.Flush(); err != nil && b.conn.IsClosed() {
		s.Stop()
		return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	return s, nil
}

func fromNATS(msg *nats.Msg) events.Message {
	m := events.Message{Subject: msg.Subject, Header: events.Header(msg.Header), Body: msg.Data}
	m.Sequence = storedSequence(msg.Header)
	return m
}

// Messages implements Subscription.
func (s *subscription) Messages() <-chan events.Message { return s.messages }

// Stop implements Subscription.
func (s *subscription) Stop() {
	close(s.stop)
	if err := s.nats.Unsubscribe(); err != nil {
		return // the connection is closed, and the subscription with it
	}
	<-s.ended
}
