package memory

import (
	"context"
	"slices"

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
		page, changed := b.page(s, next)
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
		select {
		case <-changed:
		case <-r.stop:
			return
		}
	}
}

func (b *Bus) page(s *stream, from uint64) ([]events.Message, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, _ := slices.BinarySearchFunc(s.messages, from, func(m events.Message, sequence uint64) int {
		switch {
		case m.Sequence < sequence:
			return -1
		case m.Sequence > sequence:
			return 1
		}
		return 0
	})
	return slices.Clone(s.messages[i:min(len(s.messages), i+waiting)]), s.changed
}

// Messages implements bus.Reader.
func (r *reader) Messages() <-chan events.Message { return r.messages }

// Stop implements bus.Reader.
func (r *reader) Stop() {
	close(r.stop)
	<-r.ended
}
