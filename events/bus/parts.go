package bus

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events"
)

const (
	// HeaderPart numbers the messages of an answer in parts, from 1.
	HeaderPart = "Rookery-Part"
	// HeaderParts is on the last of them, and says how many they are.
	HeaderParts = "Rookery-Parts"
	// MaxAnswer bounds an answer in bytes, all its parts together. It stays below what a NATS server and a subscription hold for one who
	// reads slowly, 64 MiB each: the parts are sent without waiting for who asked.
	MaxAnswer = 48 << 20
	// answerPart is the size of each part but the last; an answer up to it is one message without the headers.
	answerPart = 900_000
)

// inParts sends an answer as as many messages as it takes: their bodies put one after the other are the answer. Each has its headers.
func inParts(question *nats.Msg, answer events.Message) error {
	if len(answer.Body) <= answerPart {
		return question.RespondMsg(toNATS(answer))
	}
	if len(answer.Body) > MaxAnswer {
		return &QuestionError{Code: 413, Reason: fmt.Sprintf("the answer has %d bytes, more than %d: ask for less", len(answer.Body), MaxAnswer)}
	}
	all := slices.Collect(slices.Chunk(answer.Body, answerPart))
	for i, body := range all {
		part := nats.NewMsg(question.Reply)
		part.Data = body
		maps.Copy(part.Header, answer.Header)
		part.Header[HeaderPart] = []string{strconv.Itoa(i + 1)}
		if i+1 == len(all) {
			part.Header[HeaderParts] = []string{strconv.Itoa(len(all))}
		}
		if err := question.RespondMsg(part); err != nil {
			return err
		}
	}
	return nil
}

// RequestWhole asks as Request does, and puts an answer in parts together.
func (b *JetStream) RequestWhole(ctx context.Context, m events.Message) (events.Message, error) {
	sub, err := b.conn.SubscribeSync(b.conn.NewRespInbox())
	if err != nil {
		return events.Message{}, fmt.Errorf("ask %s: %w", m.Subject, translate(err))
	}
	defer func() { _ = sub.Unsubscribe() }() // fails where the connection is closed, and the subscription with it
	ctx, done := b.denials.until(ctx, m.Subject)
	defer done()
	question := toNATS(m)
	question.Reply = sub.Subject
	if err := b.conn.PublishMsg(question); err != nil {
		return events.Message{}, fmt.Errorf("ask %s: %w", m.Subject, translate(err))
	}
	var whole bytes.Buffer
	for part := 1; ; part++ {
		got, err := sub.NextMsgWithContext(ctx)
		if err == nil && len(got.Data) == 0 && got.Header.Get("Status") == "503" {
			err = nats.ErrNoResponders
		}
		if err != nil && forbidden(ctx) {
			return events.Message{}, fmt.Errorf("ask %s: %w", m.Subject, ErrForbidden)
		}
		if err != nil {
			return events.Message{}, fmt.Errorf("ask %s: %w: %w", m.Subject, ErrNoAnswer, err)
		}
		number := got.Header.Get(HeaderPart)
		if number == "" && part == 1 {
			return fromNATS(got), nil
		}
		if number != strconv.Itoa(part) || whole.Len()+len(got.Data) > MaxAnswer {
			return events.Message{}, fmt.Errorf("ask %s: %w: part %q of the answer came where part %d of at most %d bytes was due: ask again",
				m.Subject, ErrNoAnswer, number, part, MaxAnswer)
		}
		whole.Write(got.Data)
		if parts := got.Header.Get(HeaderParts); parts != "" {
			answer := fromNATS(got)
			answer.Body = whole.Bytes()
			return answer, nil
		}
	}
}
