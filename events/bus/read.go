package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rookery-project/rookery/events"
)

const (
	// waiting is how many messages a subscription holds for a slow listener.
	waiting = 4096
	// ahead is how many messages a reader fetches ahead of who reads, and how many it holds for them. A message of the log takes 2 KB of memory,
	// and the half of this many take longer to read than to ask for more.
	ahead = 1024
)

// forgottenAfter is how long the server keeps the consumer of a reader that has stopped. A stream has at most 1,000 consumers.
const forgottenAfter = 10 * time.Second

// heartbeatEvery is how often the server shows that a consumer stands. After two that are missing the reader makes another consumer. The
// server must do so often: one that ends takes its consumers along, and tells no client.
const heartbeatEvery = time.Second

const (
	// openFor is how long a reader waits for a new consumer: a stream that elects its leader does not answer.
	openFor = 2 * time.Second
	// openAgain is how long it waits before it tries that again.
	openAgain = 250 * time.Millisecond
	// compareEvery is how often a reader to which nothing comes compares what it has read with what the stream's leader has.
	compareEvery = 2 * time.Second
)

// reader pumps the messages of one consumer after the other into a channel. The client's own ordered consumer would wait ten seconds for a
// new consumer, and longer after each try. It would also stay with a consumer whose server lags behind, which delivers nothing.
type reader struct {
	bus      *JetStream
	stream   Stream
	next     uint64 // the sequence of the next message, or one below
	messages chan events.Message
	ctx      context.Context
	cancel   context.CancelFunc
	ended    chan struct{}
}

// Read implements Bus.
func (b *JetStream) Read(ctx context.Context, stream Stream, from uint64) (Reader, error) {
	r := &reader{bus: b, stream: stream, next: max(from, 1), messages: make(chan events.Message, ahead), ended: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	f, err := r.open(ctx)
	if err != nil {
		r.cancel()
		return nil, fmt.Errorf("read %s from %d: %w", stream, from, err)
	}
	go r.pump(f)
	return r, nil
}

// feed is what one consumer delivers.
type feed struct {
	consuming jetstream.ConsumeContext
	arrived   chan jetstream.Msg
	broken    chan struct{} // has a value once the consumer is of no use
	stopped   chan struct{}
	delivered uint64 // the consumer's own number of the last message
	quiet     bool   // nothing has come since the last comparison
	behind    bool   // the stream's leader had a message at the last comparison that has not come
}

// consumerFrom is a consumer of one server.
func consumerFrom(sequence uint64) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: sequence, AckPolicy: jetstream.AckNonePolicy,
		InactiveThreshold: forgottenAfter, Replicas: 1, MemoryStorage: true,
	}
}

// open makes a consumer that begins with the next message.
func (r *reader) open(ctx context.Context) (*feed, error) {
	consumer, err := r.bus.js.CreateConsumer(ctx, string(r.stream), consumerFrom(r.next))
	if err != nil {
		return nil, r.bus.heard(err)
	}
	f := &feed{arrived: make(chan jetstream.Msg), broken: make(chan struct{}, 1), stopped: make(chan struct{})}
	f.consuming, err = consumer.Consume(f.take, jetstream.PullMaxMessages(ahead), jetstream.PullHeartbeat(heartbeatEvery),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { f.note(err) }))
	return f, translate(err)
}

func (f *feed) take(m jetstream.Msg) {
	select {
	case f.arrived <- m:
	case <-f.stopped:
	}
}

// note marks the feed as broken once its consumer is gone. The client repeats its requests after all other errors.
func (f *feed) note(err error) {
	if !gone(err) {
		return
	}
	select {
	case f.broken <- struct{}{}:
	default:
	}
}

// gone reports whether the error says that a consumer is gone.
func gone(err error) bool {
	return slices.ContainsFunc([]error{
		jetstream.ErrNoHeartbeat, jetstream.ErrConsumerDeleted, jetstream.ErrConsumerNotFound, jetstream.ErrBadRequest, nats.ErrNoResponders,
	}, func(one error) bool { return errors.Is(err, one) })
}

func (f *feed) stop() {
	close(f.stopped)
	f.consuming.Stop()
	<-f.consuming.Closed()
}

// pump reads until Stop is called or the connection is closed.
func (r *reader) pump(f *feed) {
	defer close(r.ended)
	defer close(r.messages)
	compare := time.NewTicker(compareEvery)
	defer compare.Stop()
	for f != nil {
		goesOn := true
		select {
		case msg := <-f.arrived:
			goesOn = r.deliver(f, msg)
		case <-compare.C:
			goesOn = r.keepsUp(f)
		case <-f.broken:
			goesOn = false
		case <-f.consuming.Closed():
			goesOn = false
		case <-r.ctx.Done():
			f.stop()
			return
		}
		if !goesOn {
			f.stop()
			f = r.reopen()
		}
	}
}

// keepsUp reports whether the consumer delivers what the stream's leader has had for a while.
func (r *reader) keepsUp(f *feed) bool {
	switch {
	case !f.quiet:
		f.quiet, f.behind = true, false
		return true
	case f.behind:
		return false
	}
	ctx, cancel := context.WithTimeout(r.ctx, openFor)
	defer cancel()
	state, err := r.bus.State(ctx, r.stream)
	f.behind = err == nil && state.Last >= max(r.next, state.First) // an empty stream ends before its first message
	return true
}

// deliver hands the message on. It reports false if the consumer has left one out before it.
func (r *reader) deliver(f *feed, msg jetstream.Msg) (whole bool) {
	meta, err := msg.Metadata()
	if err != nil || meta.Sequence.Consumer != f.delivered+1 {
		return false
	}
	f.delivered, f.quiet, r.next = meta.Sequence.Consumer, false, meta.Sequence.Stream+1
	select {
	case r.messages <- fromStored(msg, meta):
	case <-r.ctx.Done(): // which pump sees next
	}
	return true
}

func fromStored(msg jetstream.Msg, meta *jetstream.MsgMetadata) events.Message {
	return events.Message{
		Subject: msg.Subject(), Header: events.Header(msg.Headers()), Body: msg.Data(),
		Sequence: meta.Sequence.Stream, Time: meta.Timestamp,
	}
}

// reopen returns a new feed, or nil once Stop is called or the connection is closed.
func (r *reader) reopen() *feed {
	for !r.bus.conn.IsClosed() {
		ctx, cancel := context.WithTimeout(r.ctx, openFor)
		f, err := r.open(ctx)
		cancel()
		if err == nil {
			return f
		}
		select {
		case <-r.ctx.Done():
			return nil
		case <-time.After(openAgain):
		}
	}
	return nil
}

// Messages implements Reader.
func (r *reader) Messages() <-chan events.Message { return r.messages }

// Stop implements Reader.
func (r *reader) Stop() {
	r.cancel()
	<-r.ended
}

// subscription hands messages of core subscriptions to a channel, in the order in which the server sent them.
type subscription struct {
	messages chan events.Message
	stop     chan struct{}
	ended    chan struct{} // closed once the last message was handed over
	// merging is what hands over those of several subjects.
	merging sync.WaitGroup
	all     []*nats.Subscription
}

// Subscribe implements Bus.
func (b *JetStream) Subscribe(subject string) (Subscription, error) {
	s := &subscription{messages: make(chan events.Message, waiting), stop: make(chan struct{}), ended: make(chan struct{})}
	sub, err := b.conn.Subscribe(subject, func(msg *nats.Msg) { s.hand(msg) })
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	sub.SetClosedHandler(func(string) { close(s.ended) })
	s.all = append(s.all, sub)
	return s.begun(b, subject)
}

// waitsInAll is how many messages of several subjects may wait. The library drops those that come while so many do.
const waitsInAll = 8 << 10

// SubscribeAll is Subscribe for several subjects. A message that matches two of them comes twice.
func (b *JetStream) SubscribeAll(subjects ...string) (Subscription, error) {
	s := &subscription{messages: make(chan events.Message, waiting), stop: make(chan struct{}), ended: make(chan struct{})}
	arriving := make(chan *nats.Msg, waitsInAll)
	s.merging.Go(func() {
		defer close(s.ended)
		for {
			select {
			case msg := <-arriving:
				s.hand(msg)
			case <-s.stop:
				return
			}
		}
	})
	for _, subject := range subjects {
		sub, err := b.conn.ChanSubscribe(subject, arriving)
		if err != nil {
			s.Stop()
			return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
		}
		s.all = append(s.all, sub)
	}
	return s.begun(b, strings.Join(subjects, " and "))
}

// hand hands over a message, unless the subscription has ended.
func (s *subscription) hand(msg *nats.Msg) {
	select {
	case s.messages <- fromNATS(msg):
	case <-s.stop:
	}
}

// begun waits until the server has the subscription. A connection that breaks just now brings it along when it stands again.
func (s *subscription) begun(b *JetStream, what string) (Subscription, error) {
	if err := b.conn.Flush(); err != nil && b.conn.IsClosed() {
		s.Stop()
		return nil, fmt.Errorf("subscribe to %s: %w", what, err)
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
	s.merging.Wait()
	for _, one := range s.all {
		if err := one.Unsubscribe(); err != nil {
			return // the connection is closed, and all subscriptions with it
		}
	}
	<-s.ended
}
