package memory

import (
	"maps"
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// Backup is a stream as it was at one time.
type Backup struct {
	identity string
	messages []events.Message
	last     uint64
}

// NewBackup makes a backup of a stream's identity and messages, numbered from 1.
func NewBackup(identity string, messages []events.Message) Backup {
	b := Backup{identity: identity, messages: slices.Clone(messages), last: uint64(len(messages))}
	for i := range b.messages {
		b.messages[i].Sequence = uint64(i) + 1
	}
	return b
}

// Messages returns what the backup holds, in order.
func (b Backup) Messages() []events.Message { return slices.Clone(b.messages) }

// Backup copies the stream, as an operator may.
func (b *Bus) Backup(name bus.Stream) Backup {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.streams[name]
	return Backup{identity: s.identity, messages: slices.Collect(s.from(0)), last: s.last}
}

// Restore returns the stream to the state of the backup. Its readers end.
func (b *Bus) Restore(name bus.Stream, backup Backup) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(name)
	s := b.streams[name]
	s.identity = backup.identity
	for _, m := range backup.messages {
		s.add(m)
	}
	s.last = backup.last
}

// Restart loses what the server keeps in memory alone: the statuses, the metrics and every bucket but the configs. Readers
// of what is lost end.
func (b *Bus) Restart() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(bus.Statuses)
	b.remove(bus.Metrics)
	for _, name := range slices.Sorted(maps.Keys(b.buckets)) {
		if name != bus.BucketConfigs {
			b.buckets[name].clear()
		}
	}
}

// Empty loses what the stream holds and counts its messages from 1 again, under the same identity, as servers do that all end at once
// with a stream in their memory. Its readers wait for what follows the last message that they read.
func (b *Bus) Empty(name bus.Stream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.streams[name]
	s.messages, s.gaps, s.last = nil, 0, 0
	clear(s.latest)
}

// Tear stores the first messages of a batch whose end is never stored, as a server that crashes can.
func (b *Bus) Tear(name bus.Stream, batch []events.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range batch {
		b.store(b.streams[name], m)
	}
}

// Damage replaces the stored message of this sequence by the result of change, as a disk that goes bad can. Where change reports false, it
// removes the message. Readers keep what they have read.
func (b *Bus) Damage(name bus.Stream, sequence uint64, change func(events.Message) (events.Message, bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.streams[name]
	i := s.index(sequence)
	m, keep := change(s.messages[i])
	if !keep {
		s.messages = slices.Delete(s.messages, i, i+1)
		return
	}
	s.messages[i] = m
}

// Cursor reads a stream for a caller that waits by itself.
type Cursor struct {
	bus    *Bus
	stream *stream
	next   uint64
}

// Cursor returns a cursor before the message with this sequence.
func (b *Bus) Cursor(name bus.Stream, from uint64) *Cursor {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &Cursor{bus: b, stream: b.streams[name], next: max(from, 1)}
}

// Back returns the cursor by so many messages: Next delivers them once more.
func (c *Cursor) Back(messages uint64) { c.next -= min(messages, c.next-1) }

// Next returns at most limit messages that come next, and whether the stream is removed.
func (c *Cursor) Next(limit int) (page []events.Message, removed bool) {
	page, _, removed = c.bus.page(c.stream, c.next, limit)
	if n := len(page); n > 0 {
		c.next = page[n-1].Sequence + 1
	}
	return page, removed
}
