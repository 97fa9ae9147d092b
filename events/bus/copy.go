package bus

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rookery-project/rookery/events"
)

const (
	// copyTries is how many consumers ReadCopy makes at most: NATS picks the server of each at random.
	copyTries = 50
	// copyOpens is how often ReadCopy begins to read at most. A server that hears late of a new consumer does not answer its first request.
	copyOpens = 10
	// copyQuiet is how long a copy may deliver nothing before its end counts as missing.
	copyQuiet = 10 * time.Second
)

// ErrNoCopy occurs when no reader can be made at the server: it is down, or keeps no copy.
var ErrNoCopy = errors.New("no reader can be made at the server")

// ErrDamaged occurs when a server has not what was put into an object store.
var ErrDamaged = errors.New("these objects are not what was stored")

// Keepers returns the names of the servers that keep the stream, in order.
func (b *JetStream) Keepers(ctx context.Context, stream Stream) ([]string, error) {
	handle, err := b.js.Stream(ctx, string(stream))
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", stream, translate(err))
	}
	info := handle.CachedInfo()
	if info.Cluster == nil {
		return []string{b.conn.ConnectedServerName()}, nil
	}
	names := []string{info.Cluster.Leader}
	for _, r := range info.Cluster.Replicas {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return names, nil
}

// ReadCopy hands over the messages of the stream as one server has them, from the first to the last that the stream's leader has. It returns
// the first error of take, ErrNoCopy, ErrNoAnswer where the copy ends before, or ErrReader where a message was lost on the way to here.
func (b *JetStream) ReadCopy(ctx context.Context, stream Stream, server string, take func(events.Message) error) error {
	state, err := b.State(ctx, stream)
	if err != nil || state.Last < state.First {
		return err
	}
	end, err := b.lastOf(ctx, stream, ">") // the stream may have counted further: its last messages may have been deleted
	if err != nil {
		return err
	}
	c := &copyReader{stream: stream, server: server, next: state.First, end: end, take: take}
	for tries := 1; c.next <= c.end; tries++ {
		if err := b.readOn(ctx, c); err != nil && (!gone(err) || tries == copyOpens) {
			return err
		}
	}
	return nil
}

// copyReader is where in a stream the reading of a copy is.
type copyReader struct {
	stream    Stream
	server    string
	next, end uint64
	take      func(events.Message) error
}

// readOn hands over the next messages until the end, or until its consumer is gone.
func (b *JetStream) readOn(ctx context.Context, c *copyReader) error {
	consumer, err := b.consumerAt(ctx, c.stream, c.server, c.next)
	if err != nil {
		return err
	}
	delivered, err := consumer.Messages(jetstream.PullMaxMessages(waiting), jetstream.PullHeartbeat(heartbeatEvery))
	if err != nil {
		return fmt.Errorf("read %s of %s: %w", c.stream, c.server, translate(err))
	}
	defer delivered.Stop()
	for count := uint64(0); c.next <= c.end; {
		msg, err := delivered.Next(jetstream.NextMaxWait(copyQuiet))
		if err != nil {
			return fmt.Errorf("%w: %s of %s ends before %d, and that of its leader at %d: %w", ErrNoAnswer, c.stream, c.server, c.next, c.end, err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		if count++; meta.Sequence.Consumer != count {
			return fmt.Errorf("read %s of %s from %d: %w: a message was lost on the way", c.stream, c.server, c.next, ErrReader)
		}
		c.next = meta.Sequence.Stream + 1
		if err := errors.Join(c.take(fromStored(msg, meta)), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// consumerAt makes consumers until one is at the server.
func (b *JetStream) consumerAt(ctx context.Context, stream Stream, server string, from uint64) (jetstream.Consumer, error) {
	for range copyTries {
		consumer, err := b.js.CreateConsumer(ctx, string(stream), consumerFrom(from))
		if err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", stream, server, translate(err))
		}
		info := consumer.CachedInfo()
		if info.Cluster == nil || info.Cluster.Leader == server {
			return consumer, nil
		}
		if err := b.js.DeleteConsumer(ctx, string(stream), info.Name); err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", stream, server, translate(err))
		}
	}
	return nil, fmt.Errorf("%w: %s of %s", ErrNoCopy, stream, server)
}

// ObjectStores are the object stores that there may be.
var ObjectStores = []string{ObjectsVolumes, ObjectsFolds}

// ObjectStream returns the stream that keeps an object store.
func ObjectStream(store string) Stream { return Stream("OBJ_" + store) }

// objectParts is the parts of an object that one server has.
type objectParts struct {
	sum   hash.Hash
	count uint32
}

// is reports whether these are the parts of the object. An empty object has none.
func (p *objectParts) is(entry jetstream.ObjectInfo) bool {
	if p == nil {
		p = &objectParts{sum: sha256.New()}
	}
	return p.count == entry.Chunks && jetstream.GetObjectDigestValue(p.sum) == entry.Digest
}

// VerifyObjects reads the objects of the store as one server has them, and returns how many there are. Where some are not what was put, the
// error is ErrDamaged and names them; other errors are those of ReadCopy. An object of which the server has no entry is not noticed.
func (b *JetStream) VerifyObjects(ctx context.Context, store, server string) (count int, err error) {
	parts, entries := map[string]*objectParts{}, map[string]jetstream.ObjectInfo{}
	var damaged []string
	partsRoot, entriesRoot := "$O."+store+".C.", "$O."+store+".M."
	err = b.ReadCopy(ctx, ObjectStream(store), server, func(m events.Message) error {
		if id, ok := strings.CutPrefix(m.Subject, partsRoot); ok {
			if parts[id] == nil {
				parts[id] = &objectParts{sum: sha256.New()}
			}
			parts[id].sum.Write(m.Body)
			parts[id].count++
			return nil
		}
		var entry jetstream.ObjectInfo
		encoded := strings.TrimPrefix(m.Subject, entriesRoot)
		if err := json.Unmarshal(m.Body, &entry); err != nil || base64.URLEncoding.EncodeToString([]byte(entry.Name)) != encoded {
			damaged = append(damaged, encoded)
			return nil
		}
		entries[entry.Name] = entry
		return nil
	})
	if err != nil {
		return 0, err
	}
	opened, err := objects{b, store}.open(ctx)
	if err != nil {
		return 0, err
	}
	for name, entry := range entries {
		if entry.Deleted || parts[entry.NUID].is(entry) {
			continue
		}
		switch now, err := opened.GetInfo(ctx, name); {
		case errors.Is(err, jetstream.ErrObjectNotFound): // it was deleted meanwhile
		case err != nil:
			return 0, fmt.Errorf("look at object %s of %s: %w", name, store, translate(err))
		case now.NUID == entry.NUID:
			damaged = append(damaged, name)
		}
	}
	if len(damaged) > 0 {
		slices.Sort(damaged)
		return len(entries), fmt.Errorf("%w: %s", ErrDamaged, strings.Join(damaged, ", "))
	}
	return len(entries), nil
}
