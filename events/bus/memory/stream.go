package memory

import (
	"cmp"
	"iter"
	"slices"

	"github.com/rookery-project/rookery/events"
)

// stream keeps messages in order of sequence. One that a later message of its subject replaced stays as a gap, without
// a subject, until the gaps are as many as the messages: so the cost of storing does not grow with what is stored.
type stream struct {
	identity string
	root     string
	live     string // where stored messages are published again, or ""
	// latest holds the sequence of each subject's message, where the stream keeps one per subject; else it is nil.
	latest   map[string]uint64
	messages []events.Message
	gaps     int
	last     uint64
	changed  chan struct{} // closed at the next change
	removed  bool
}

// add stores the message, whose sequence is the next one.
func (s *stream) add(m events.Message) {
	s.last = m.Sequence
	if s.latest != nil {
		if replaced, ok := s.latest[m.Subject]; ok {
			s.messages[s.index(replaced)] = events.Message{Sequence: replaced}
			s.gaps++
		}
		s.latest[m.Subject] = m.Sequence
	}
	s.messages = append(s.messages, m)
	if 2*s.gaps > len(s.messages) {
		s.messages = slices.DeleteFunc(s.messages, gap)
		s.gaps = 0
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func gap(m events.Message) bool { return m.Subject == "" }

// index returns where the first message of this sequence or a later one is.
func (s *stream) index(sequence uint64) int {
	i, _ := slices.BinarySearchFunc(s.messages, sequence, func(m events.Message, sequence uint64) int {
		return cmp.Compare(m.Sequence, sequence)
	})
	return i
}

// from yields the messages from the sequence on.
func (s *stream) from(sequence uint64) iter.Seq[events.Message] {
	return func(yield func(events.Message) bool) {
		for _, m := range s.messages[s.index(sequence):] {
			if !gap(m) && !yield(m) {
				return
			}
		}
	}
}

// newest returns the last message, or false where there is none.
func (s *stream) newest() (events.Message, bool) {
	if len(s.messages) == 0 {
		return events.Message{}, false
	}
	return s.messages[len(s.messages)-1], true // not a gap: only a later message makes one
}

// purge lets go of the messages below the sequence.
func (s *stream) purge(below uint64) {
	i := s.index(below)
	for _, m := range s.messages[:i] {
		if gap(m) {
			s.gaps--
		} else if s.latest != nil {
			delete(s.latest, m.Subject)
		}
	}
	s.messages = slices.Delete(s.messages, 0, i)
}
