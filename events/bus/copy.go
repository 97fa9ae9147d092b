package bus

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"maps"
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

// ErrDamaged occurs when what a server has is not what was stored.
var ErrDamaged = errors.New("not what was stored")

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
// the first error of take, ErrNoCopy, ErrDamaged where the copy ends before although it has caught up, ErrNoAnswer where it has not, or ErrReader
// where a message was lost on the way to here.
func (b *JetStream) ReadCopy(ctx context.Context, stream Stream, server string, take func(events.Message) error) error {
	return b.readCopy(ctx, stream, ">", server, take)
}

// readCopy is ReadCopy for the messages that match the filter.
func (b *JetStream) readCopy(ctx context.Context, stream Stream, filter, server string, take func(events.Message) error) error {
	state, err := b.State(ctx, stream)
	if err != nil || state.Last < state.First {
		return err
	}
	end, err := b.lastOf(ctx, stream, filter) // the stream may have counted further: its last messages may have been deleted
	if err != nil {
		return err
	}
	c := &copyReader{stream: stream, filter: filter, server: server, next: state.First, end: end, take: take}
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
	filter    string
	server    string
	next, end uint64
	take      func(events.Message) error
}

// readOn hands over the next messages until the end, or until its consumer is gone.
func (b *JetStream) readOn(ctx context.Context, c *copyReader) error {
	consumer, err := b.consumerAt(ctx, c)
	if err != nil {
		return err
	}
	delivered, err := consumer.Messages(jetstream.PullMaxMessages(ahead), jetstream.PullHeartbeat(heartbeatEvery))
	if err != nil {
		return fmt.Errorf("read %s of %s: %w", c.stream, c.server, translate(err))
	}
	defer delivered.Stop()
	for count := uint64(0); c.next <= c.end; {
		msg, err := delivered.Next(jetstream.NextMaxWait(copyQuiet))
		if err != nil {
			return b.endsEarly(ctx, c, err)
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

// endsEarly says why a copy delivers nothing more before its end, or sets an earlier end where the leader has removed the last messages. A server
// leaves out messages of which the bytes have changed.
func (b *JetStream) endsEarly(ctx context.Context, c *copyReader, err error) error {
	if end, failed := b.lastOf(ctx, c.stream, c.filter); failed == nil && end < c.next {
		c.end = end
		return nil
	}
	if !gone(err) && b.current(ctx, c.stream, c.server) {
		return fmt.Errorf("%w: %s of %s ends before %d, and that of its leader at %d", ErrDamaged, c.stream, c.server, c.next, c.end)
	}
	return fmt.Errorf("%w: %s of %s ends before %d, and that of its leader at %d: %w", ErrNoAnswer, c.stream, c.server, c.next, c.end, err)
}

// current reports whether the server has caught up with the leader of the stream, as the leader says.
func (b *JetStream) current(ctx context.Context, stream Stream, server string) bool {
	handle, err := b.js.Stream(ctx, string(stream))
	if err != nil {
		return false
	}
	cluster := handle.CachedInfo().Cluster
	return cluster == nil || cluster.Leader == server || slices.ContainsFunc(cluster.Replicas, func(r *jetstream.PeerInfo) bool {
		return r.Name == server && r.Current && r.Lag == 0
	})
}

// consumerAt makes consumers until one is at the server.
func (b *JetStream) consumerAt(ctx context.Context, c *copyReader) (jetstream.Consumer, error) {
	config := consumerFrom(c.next)
	config.FilterSubject = c.filter
	for range copyTries {
		consumer, err := b.js.CreateConsumer(ctx, string(c.stream), config)
		if err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", c.stream, c.server, translate(err))
		}
		info := consumer.CachedInfo()
		if info.Cluster == nil || info.Cluster.Leader == c.server {
			return consumer, nil
		}
		if err := b.js.DeleteConsumer(ctx, string(c.stream), info.Name); err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", c.stream, c.server, translate(err))
		}
	}
	return nil, fmt.Errorf("%w: %s of %s", ErrNoCopy, c.stream, c.server)
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

// objectEntry is what a server says of an object.
type objectEntry struct {
	jetstream.ObjectInfo
	sequence uint64
}

// objectNames are the subjects of the entries of a store.
func objectNames(store string) string { return "$O." + store + ".M." }

// parseEntry reads the message of an entry. It reports false for one that is not what was stored.
func parseEntry(store string, m events.Message) (e objectEntry, ok bool) {
	e.sequence = m.Sequence
	err := json.Unmarshal(m.Body, &e.ObjectInfo)
	return e, err == nil && objectNames(store)+base64.URLEncoding.EncodeToString([]byte(e.Name)) == m.Subject
}

// VerifyObjects reads the objects of the store as one server has them, and returns how many there are. Where some are not what was put, or are
// missing although another server has them, the error is ErrDamaged and names them; other errors are those of ReadCopy.
func (b *JetStream) VerifyObjects(ctx context.Context, store, server string) (count int, err error) {
	end, err := b.lastOf(ctx, ObjectStream(store), ">")
	if err != nil {
		return 0, err
	}
	parts, entries := map[string]*objectParts{}, map[string]objectEntry{}
	var damaged []string
	partsRoot := "$O." + store + ".C."
	err = b.ReadCopy(ctx, ObjectStream(store), server, func(m events.Message) error {
		if id, ok := strings.CutPrefix(m.Subject, partsRoot); ok {
			if parts[id] == nil {
				parts[id] = &objectParts{sum: sha256.New()}
			}
			parts[id].sum.Write(m.Body)
			parts[id].count++
			return nil
		}
		if e, ok := parseEntry(store, m); ok {
			entries[e.Name] = e
		} else {
			damaged = append(damaged, strings.TrimPrefix(m.Subject, objectNames(store)))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	lost, err := b.lostParts(ctx, store, parts, entries)
	if err != nil {
		return 0, err
	}
	missing, err := b.missingEntries(ctx, store, server, end, entries)
	if err != nil {
		return 0, err
	}
	if damaged = slices.Concat(damaged, lost, missing); len(damaged) > 0 {
		slices.Sort(damaged)
		return len(entries), fmt.Errorf("%w: the objects %s", ErrDamaged, strings.Join(damaged, ", "))
	}
	return len(entries), nil
}

// lostParts returns the objects whose parts are not what was put.
func (b *JetStream) lostParts(ctx context.Context, store string, parts map[string]*objectParts, entries map[string]objectEntry) (lost []string, err error) {
	opened, err := objects{b, store}.open(ctx)
	if err != nil {
		return nil, err
	}
	for name, entry := range entries {
		if entry.Deleted || parts[entry.NUID].is(entry.ObjectInfo) {
			continue
		}
		switch now, err := opened.GetInfo(ctx, name); {
		case errors.Is(err, jetstream.ErrObjectNotFound): // it was deleted meanwhile
		case err != nil:
			return nil, fmt.Errorf("look at object %s of %s: %w", name, store, translate(err))
		case now.NUID == entry.NUID:
			lost = append(lost, name)
		}
	}
	return lost, nil
}

// missingEntries returns the objects of which another server has a later entry, up to the sequence where this one was read to. Of a server that
// cannot be read to its end, what was read counts.
func (b *JetStream) missingEntries(
	ctx context.Context, store, server string, end uint64, entries map[string]objectEntry,
) (missing []string, err error) {
	keepers, err := b.Keepers(ctx, ObjectStream(store))
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, other := range keepers {
		if other == server {
			continue
		}
		err := b.readCopy(ctx, ObjectStream(store), objectNames(store)+">", other, func(m events.Message) error {
			if e, ok := parseEntry(store, m); ok && e.sequence <= end && e.sequence > entries[e.Name].sequence {
				found[e.Name] = true
			}
			return nil
		})
		if ctx.Err() != nil {
			return nil, err
		}
	}
	return slices.Collect(maps.Keys(found)), nil
}
