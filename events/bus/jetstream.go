package bus

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/rookery-project/rookery/events"
)

// JetStream is the Bus on a connection to NATS. The connection is the caller's to close.
type JetStream struct {
	conn    *nats.Conn
	js      jetstream.JetStream
	user    user
	denials *denials
	left    atomic.Pointer[time.Time] // when the client last left a server for the next; nil for never
}

var _ Bus = (*JetStream)(nil)

// New returns the Bus on the connection.
func New(conn *nats.Conn) (*JetStream, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("open JetStream: %w", err)
	}
	return &JetStream{conn: conn, js: js, user: userOf(conn), denials: watchDenials(conn)}, nil
}

// Conn returns the connection.
func (b *JetStream) Conn() *nats.Conn { return b.conn }

func toNATS(m events.Message) *nats.Msg {
	return &nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Body}
}

// Publish implements Bus.
func (b *JetStream) Publish(ctx context.Context, m events.Message) (uint64, error) {
	ctx, done := b.denials.until(ctx, m.Subject)
	defer done()
	ack, err := b.js.PublishMsg(ctx, toNATS(m), jetstream.WithRetryAttempts(0))
	if err != nil && forbidden(ctx) {
		return 0, fmt.Errorf("publish to %s: %w", m.Subject, ErrForbidden)
	}
	if err != nil {
		return 0, fmt.Errorf("publish to %s: %w", m.Subject, translate(err))
	}
	return ack.Sequence, nil
}

// Last implements Bus, by a direct get where the stream has them: servers answer that without a leader of all streams. Where it has none, a
// client at a leaf node would wait in vain: its server does not know that no server answers at the hub.
func (b *JetStream) Last(ctx context.Context, stream Stream) (events.Message, bool, error) {
	if !settings(stream, 1).AllowDirect {
		return b.lastByLeader(ctx, stream)
	}
	answer, err := b.conn.RequestWithContext(ctx, jetstream.DefaultAPIPrefix+"DIRECT.GET."+string(stream), []byte(`{"last_by_subj":">"}`))
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return b.lastByLeader(ctx, stream)
	case err != nil:
		return events.Message{}, false, fmt.Errorf("read the last message of %s: %w", stream, translate(err))
	case answer.Header.Get("Status") == statusNotFound:
		return events.Message{}, false, nil
	case answer.Header.Get("Status") != "":
		return events.Message{}, false, fmt.Errorf("read the last message of %s: %w: %s", stream, ErrUnknown, answer.Header.Get("Description"))
	}
	m := fromNATS(answer)
	m.Subject = answer.Header.Get(nats.JSSubject)
	m.Time, err = time.Parse(time.RFC3339Nano, answer.Header.Get(nats.JSTimeStamp))
	return m, err == nil, err
}

// statusNotFound is the status of a direct get that finds nothing.
const statusNotFound = "404"

func (b *JetStream) lastByLeader(ctx context.Context, stream Stream) (events.Message, bool, error) {
	s, err := b.State(ctx, stream)
	if err != nil || s.Last < s.First {
		return events.Message{}, false, err
	}
	handle, err := b.js.Stream(ctx, string(stream))
	if err != nil {
		return events.Message{}, false, fmt.Errorf("look up stream %s: %w", stream, translate(err))
	}
	raw, err := handle.GetMsg(ctx, s.Last)
	if err != nil {
		return events.Message{}, false, fmt.Errorf("read message %d of %s: %w", s.Last, stream, translate(err))
	}
	return fromRaw(raw), true, nil
}

func fromRaw(raw *jetstream.RawStreamMsg) events.Message {
	return events.Message{
		Subject: raw.Subject, Header: events.Header(raw.Header), Body: raw.Data, Sequence: raw.Sequence, Time: raw.Time,
	}
}

// laggedFor is how long Latest waits before it reads again what a server that lags behind has answered.
const laggedFor = 50 * time.Millisecond

// Latest implements Bus, by direct gets: no consumer is made. It is for streams that keep one message per subject. Every server that keeps
// the stream answers direct gets, also one that lags behind or is cut off. So Latest asks the stream's leader for the last message, and reads
// again until that one is there.
func (b *JetStream) Latest(ctx context.Context, stream Stream, filter string) ([]events.Message, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	for {
		last, err := b.lastOf(ctx, stream, filter)
		if err != nil {
			return nil, err
		}
		all, err := b.atOnce(ctx, stream, filter)
		if errors.Is(err, errTooMany) {
			all, err = b.pages(ctx, stream, filter, last)
		}
		if err != nil || last == 0 || (len(all) > 0 && all[len(all)-1].Sequence >= last) {
			return all, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("read %s of %s: a server that lags behind answers: %w: %w", filter, stream, ErrNoAnswer, ctx.Err())
		case <-time.After(laggedFor):
		}
	}
}

// lastOf returns the sequence of the last message that the stream's leader has for the filter; 0 for none.
func (b *JetStream) lastOf(ctx context.Context, stream Stream, filter string) (uint64, error) {
	question, err := json.Marshal(map[string]string{"last_by_subj": filter})
	if err != nil {
		return 0, err
	}
	m, err := b.conn.RequestWithContext(ctx, jetstream.DefaultAPIPrefix+"STREAM.MSG.GET."+string(stream), question)
	if err != nil {
		return 0, fmt.Errorf("ask the leader of %s for %s: %w", stream, filter, b.placed(translate(err)))
	}
	var answer struct {
		Message struct {
			Sequence uint64 `json:"seq"`
		} `json:"message"`
		Error *jetstream.APIError `json:"error"`
	}
	switch err := json.Unmarshal(m.Data, &answer); {
	case err != nil:
		return 0, fmt.Errorf("ask the leader of %s for %s: %w", stream, filter, err)
	case answer.Error != nil && answer.Error.ErrorCode != jetstream.JSErrCodeMessageNotFound:
		return 0, fmt.Errorf("ask the leader of %s for %s: %w", stream, filter, b.placed(translate(answer.Error)))
	}
	return answer.Message.Sequence, nil
}

// bounded returns ctx, or one that ends after CallTimeout if it has no end.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ends := ctx.Deadline(); ends {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, CallTimeout)
}

// errTooMany occurs when there are more messages than the server answers with at once.
var errTooMany = errors.New("more messages match than the server answers with at once")

// atOnce returns the last message of each subject that matches the filter, or errTooMany. The server finds them by its index of subjects. By
// pages it would look at all messages in between: of 100,000 orders it finds the 100 of a node 40 times faster so.
func (b *JetStream) atOnce(ctx context.Context, stream Stream, filter string) ([]events.Message, error) {
	batch, err := jetstreamext.GetLastMsgsFor(ctx, b.js, string(stream), []string{filter})
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", filter, stream, translate(err))
	}
	all, err := collect(ctx, batch)
	switch {
	case errors.Is(err, jetstreamext.ErrBatchUnsupported): // so the library calls every answer with a status that it does not know
		return nil, errTooMany
	case err != nil:
		return nil, fmt.Errorf("read %s of %s: %w", filter, stream, err)
	case len(all) == 0:
		return nil, nil
	case all[len(all)-1].Header.Get(headerPending) != "0":
		return nil, errTooMany
	case all[0].Header.Get(headerPending) != strconv.Itoa(len(all)-1):
		return nil, fmt.Errorf("read %s of %s: %w: messages were lost on the way", filter, stream, ErrUnknown)
	}
	return all, nil
}

// headerPending is how many messages of an answer to a direct get follow.
const headerPending = "Nats-Num-Pending"

// collect returns the messages of a batch.
func collect(ctx context.Context, batch iter.Seq2[*jetstream.RawStreamMsg, error]) ([]events.Message, error) {
	var all []events.Message
	for raw, err := range batch {
		if errors.Is(err, jetstreamext.ErrNoMessages) {
			break
		}
		if err != nil {
			return nil, translate(err)
		}
		all = append(all, fromRaw(raw))
	}
	if err := ctx.Err(); err != nil { // the library ends a batch without an error when the time is over
		return nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	return all, nil
}

// pages returns all messages that match the filter, up to the last one. The server ends a page of large messages early.
func (b *JetStream) pages(ctx context.Context, stream Stream, filter string, last uint64) ([]events.Message, error) {
	var all []events.Message
	from := uint64(1)
	for {
		page, err := b.Matching(ctx, stream, filter, from)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) == 0 || (len(page) < MatchingPage && page[len(page)-1].Sequence >= last) {
			return all, nil
		}
		from = page[len(page)-1].Sequence + 1
	}
}

// Matching implements Bus, by direct gets.
func (b *JetStream) Matching(ctx context.Context, stream Stream, filter string, from uint64) ([]events.Message, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	batch, err := jetstreamext.GetBatch(ctx, b.js, string(stream), MatchingPage,
		jetstreamext.GetBatchSubject(filter), jetstreamext.GetBatchSeq(max(from, 1)))
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", filter, stream, translate(err))
	}
	page, err := collect(ctx, batch)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", filter, stream, err)
	}
	return page, nil
}

// State implements Bus.
func (b *JetStream) State(ctx context.Context, stream Stream) (State, error) {
	handle, err := b.js.Stream(ctx, string(stream))
	if err != nil {
		return State{}, fmt.Errorf("look up stream %s: %w", stream, b.heard(err))
	}
	info := handle.CachedInfo()
	if restoring(info.Config) {
		return State{}, fmt.Errorf("stream %s: %w: %w", stream, ErrNoStream, ErrRestoring)
	}
	meta := info.Config.Metadata
	s := State{Identity: meta[metadataIdentity], Accounts: meta[metadataAccounts] == accountsOn, First: info.State.FirstSeq, Last: info.State.LastSeq, Since: info.State.FirstTime, Bytes: info.State.Bytes}
	if info.State.Msgs == 0 {
		s.First = s.Last + 1
	}
	return s, nil
}

// Size returns how many bytes the stream has stored.
func (b *JetStream) Size(ctx context.Context, stream Stream) (uint64, error) {
	handle, err := b.js.Stream(ctx, string(stream))
	if err != nil {
		return 0, fmt.Errorf("look up stream %s: %w", stream, translate(err))
	}
	return handle.CachedInfo().State.Bytes, nil
}

// Room implements Bus. Of an account with limits for each number of replicas it is the fullest.
func (b *JetStream) Room(ctx context.Context) (Room, error) {
	info, err := b.js.AccountInfo(ctx)
	if err != nil {
		return Room{}, fmt.Errorf("ask how full the account is: %w", translate(err))
	}
	room := roomOf(info.Tier)
	for _, tier := range info.Tiers {
		if other := roomOf(tier); other.share() > room.share() {
			room = other
		}
	}
	return room, nil
}

func roomOf(t jetstream.Tier) Room {
	return Room{t.Store, uint64(max(t.Limits.MaxStore, 0))} //nolint:gosec // not below 0
}

// Purge implements Bus.
func (b *JetStream) Purge(ctx context.Context, stream Stream, below uint64) error {
	handle, err := b.js.Stream(ctx, string(stream))
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", stream, translate(err))
	}
	if err := handle.Purge(ctx, jetstream.WithPurgeSequence(below)); err != nil {
		return fmt.Errorf("purge %s below %d: %w", stream, below, translate(err))
	}
	return nil
}

// Now implements Bus, with the time that the server answers to a question about its account.
func (b *JetStream) Now(ctx context.Context) (time.Time, error) {
	handle, err := b.js.Stream(ctx, string(Log))
	if err != nil {
		return time.Time{}, fmt.Errorf("ask the server for its time: %w", translate(err))
	}
	return handle.CachedInfo().TimeStamp, nil
}
