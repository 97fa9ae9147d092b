package memory

import (
	"context"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

const waiting = 4096

type reader struct {
	messages chan events.Message
	stop     chan struct{}
	ended    chan struct{}
}

// Read implements bus.Bus.
func (b *Bus) Read(_ context.Context, name bus.Stream, from uint64) (bus.Reader, error) {
	r := &reader{messages: make(chan events.Message, waiting), stop: make(chan struct{}), ended: make(chan struct{})}
	b.mu.Lock()
	s := b.streams[name]
	b.mu.Unlock()
	go b.pump(r, s, max(from, 1))
	return r, nil
}

func (b *Bus) pump(r *reader, s *stream, next uint64) {
	defer close(r.ended)
	defer close(r.messages)
	for {
		page, changed, removed := b.page(s, next, waiting)
		for _, m := range page {
			select {
			case r.messages <- m:
				next = m.Sequence + 1
			case <-r.stop:
				return
			}
		}
		if len(page) > 0 {
			continue
		}
		if removed {
			return
		}
		select {
		case <-changed:
		case <-r.stop:
			return
		}
	}
}

// page returns at most limit messages from the sequence on, a channel that closes when there are more, and whether the stream is removed.
func (b *Bus) page(s *stream, from uint64, limit int) (page []events.Message, changed <-chan struct{}, removed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for m := range s.from(from) {
		if len(page) == limit {
			break
		}
		page = append(page, m)
	}
	return page, s.changed, s.removed
}

// Messages implements bus.Reader.
func (r *reader) Messages() <-chan events.Message { return r.messages }

// Stop implements bus.Reader.
func (r *reader) Stop() {
	close(r.stop)
	<-r.ended
}
