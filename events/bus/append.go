package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/rookery-project/rookery/events"
)

// The headers of an atomic batch, as ADR-50 of NATS names them.
const (
	headerBatchID       = "Nats-Batch-Id"
	headerBatchSequence = "Nats-Batch-Sequence"
	headerBatchCommit   = "Nats-Batch-Commit"
	headerExpectedLast  = "Nats-Expected-Last-Sequence"
)

// Append implements Bus with an atomic batch. Only the last message waits for an answer: the server stores the batch as a whole or not at
// all, and says so there. A single message goes without a batch: for each batch the server makes a folder, keeps the messages there until
// the last one arrives, and removes it.
func (b *JetStream) Append(ctx context.Context, stream Stream, after uint64, batch []events.Message) (uint64, error) {
	if len(batch) == 0 || len(batch) > MaxBatch {
		return 0, fmt.Errorf("append %d messages to %s: %w: a batch has 1 to %d", len(batch), stream, ErrTooLarge, MaxBatch)
	}
	if len(batch) == 1 {
		msg := toNATS(batch[0])
		msg.Header[headerExpectedLast] = []string{strconv.FormatUint(after, 10)}
		return b.request(ctx, stream, msg)
	}
	id := []string{nuid.Next()}
	for i, m := range batch {
		msg := toNATS(m)
		msg.Header[headerBatchID] = id
		msg.Header[headerBatchSequence] = []string{strconv.Itoa(i + 1)}
		if i == 0 {
			msg.Header[headerExpectedLast] = []string{strconv.FormatUint(after, 10)}
		}
		if i == len(batch)-1 {
			return b.commit(ctx, stream, msg)
		}
		if err := b.conn.PublishMsg(msg); err != nil {
			return 0, fmt.Errorf("append to %s: %w", stream, translate(err))
		}
	}
	return 0, nil
}

func (b *JetStream) commit(ctx context.Context, stream Stream, last *nats.Msg) (uint64, error) {
	last.Header[headerBatchCommit] = []string{"1"}
	return b.request(ctx, stream, last)
}

// request publishes the message that says whether all was stored.
func (b *JetStream) request(ctx context.Context, stream Stream, last *nats.Msg) (uint64, error) {
	answer, err := b.conn.RequestMsgWithContext(ctx, last)
	if errors.Is(err, nats.ErrMaxPayload) { // it was not sent, and without it the server lets the others go
		return 0, fmt.Errorf("append to %s: %w", stream, translate(err))
	}
	if err != nil {
		return 0, fmt.Errorf("append to %s: %w: %w", stream, ErrUnknown, err)
	}
	var ack struct {
		Sequence uint64 `json:"seq"`
		Error    *struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(answer.Data, &ack); err != nil {
		return 0, fmt.Errorf("append to %s: %w: the answer cannot be parsed: %w", stream, ErrUnknown, err)
	}
	if ack.Error != nil {
		return 0, fmt.Errorf("append to %s: %w", stream, b.heard(translateCode(ack.Error.Code, ack.Error.Description)))
	}
	return ack.Sequence, nil
}
