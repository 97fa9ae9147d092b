package events

import (
	"fmt"
	"strconv"
	"time"
)

// Event is what was decided or seen, in the past tense, before it stands in the log.
type Event struct {
	Scope Scope
	Data  Data
	Cause Cause
}

// Record is an event where it stands in the log.
type Record struct {
	Event
	// Sequence is its place in ROOKERY_LOG.
	Sequence uint64
	// Time is that of its round.
	Time time.Time
}

// Message writes the record for the log of this identity.
func (r Record) Message(logID string) (Message, error) {
	return Encode(r.Scope.LogSubject(r.Data.Kind()), r.Data, Attributes{
		ID:     strconv.FormatUint(r.Sequence, 10),
		Source: "/rookery/" + logID,
		Time:   r.Time,
		Cause:  r.Cause,
	})
}

// ParseRecord reads a message of the log. It returns ErrUnknownType or ErrMalformed, wrapped with the sequence.
func ParseRecord(m Message) (Record, error) {
	scope, ok := parseLogScope(m.Subject)
	if !ok {
		return Record{}, fmt.Errorf("log sequence %d: %w: subject %q", m.Sequence, ErrMalformed, m.Subject)
	}
	data, a, err := Decode(m)
	if err != nil {
		return Record{}, fmt.Errorf("log sequence %d: %w", m.Sequence, err)
	}
	return Record{Event: Event{Scope: scope, Data: data, Cause: a.Cause}, Sequence: m.Sequence, Time: a.Time}, nil
}
