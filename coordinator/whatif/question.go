package whatif

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Bounds of a question.
const (
	// MaxEvents is how many messages of the log lie between From and To at most.
	MaxEvents = 1_000_000
	// MaxSpan is the longest time between both.
	MaxSpan = 400 * 24 * time.Hour
	// MaxCapacities is for how many nodes another capacity is taken at most.
	MaxCapacities = 10_000
)

// Errors of a question that has no answer, wrapped with what is wrong.
var (
	// ErrQuestion occurs when the question makes no sense, or not for this log.
	ErrQuestion = errors.New("this cannot be asked")
	// ErrTooMuch occurs when the slice of the log is longer than the bounds.
	ErrTooMuch = errors.New("too much of the log is asked for")
	// ErrSimulated occurs when the past cannot be carried out once more.
	ErrSimulated = errors.New("the past cannot be simulated")
)

// Question is what would be different in the past, and in which part of it.
type Question struct {
	// Policy is in place of every one that was in force; nil where those stay.
	Policy *events.Policy
	// Capacity is what nodes have to give, by name, in place of what they said, in each part that is given.
	Capacity map[string]events.Resources
	// From and To bound the part: from the first round that begins there or later to the last that ends there or before.
	// Zero for the beginning and the end of the log.
	From, To Moment
}

// Moment is a place in the log: a sequence, or a time. Zero is none.
type Moment struct {
	Sequence uint64
	Time     time.Time
}

// ParseMoment reads a sequence as in 4711, or a time as in 2026-11-01T12:00:00Z or 2026-11-01T12:00Z.
func ParseMoment(text string) (Moment, error) {
	if sequence, err := strconv.ParseUint(text, 10, 64); err == nil && sequence > 0 {
		return Moment{Sequence: sequence}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil {
			return Moment{Time: at}, nil
		}
	}
	return Moment{}, fmt.Errorf("%w: %q is no place in the log: write a sequence as in 4711, or a time as in 2026-11-01T12:00:00Z", ErrQuestion, text)
}

// MarshalText writes what ParseMoment reads; nothing for zero.
func (m Moment) MarshalText() ([]byte, error) {
	switch {
	case m.Sequence > 0:
		return strconv.AppendUint(nil, m.Sequence, 10), nil
	case !m.Time.IsZero():
		return []byte(m.Time.Format(time.RFC3339Nano)), nil
	}
	return nil, nil
}

// UnmarshalJSON is ParseMoment of a text or a number.
func (m *Moment) UnmarshalJSON(body []byte) (err error) {
	*m, err = ParseMoment(strings.Trim(string(body), `"`))
	return err
}

// Before reports whether the moment lies before the end of a round; never for none.
func (m Moment) Before(r events.Record) bool {
	return (m.Sequence > 0 && r.Sequence > m.Sequence) || (!m.Time.IsZero() && r.Time.After(m.Time))
}

// After reports whether the moment lies behind the end of a round; never for none.
func (m Moment) After(r events.Record) bool {
	return (m.Sequence > 0 && r.Sequence < m.Sequence) || (!m.Time.IsZero() && r.Time.Before(m.Time))
}

// ParseCapacity reads what nodes shall have, each as in node-0.memory=32GiB, node-0.cpu=8 or node-0.disk=1TiB.
func ParseCapacity(texts []string) (map[string]events.Resources, error) {
	capacity := map[string]events.Resources{}
	for _, text := range texts {
		what, amount, given := strings.Cut(text, "=")
		node, part, _ := strings.Cut(what, ".")
		r := capacity[node]
		var err error
		switch part {
		case "cpu":
			err = r.CPU.UnmarshalText([]byte(amount))
		case "memory":
			err = r.Memory.UnmarshalText([]byte(amount))
		case "disk":
			err = r.Disk.UnmarshalText([]byte(amount))
		default:
			given = false
		}
		if !given || node == "" {
			return nil, fmt.Errorf("%w: %q is no capacity: write it as in node-0.memory=32GiB, with cpu, memory or disk", ErrQuestion, text)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrQuestion, text, err)
		}
		capacity[node] = r
	}
	return capacity, nil
}

func (q Question) check() error {
	switch {
	case q.Policy == nil && len(q.Capacity) == 0:
		return fmt.Errorf("%w: nothing would be different: give another policy or another capacity", ErrQuestion)
	case len(q.Capacity) > MaxCapacities:
		return fmt.Errorf("%w: %d nodes have another capacity, more than %d", ErrQuestion, len(q.Capacity), MaxCapacities)
	case q.From.Sequence > 0 && q.To.Sequence > 0 && q.From.Sequence > q.To.Sequence,
		!q.From.Time.IsZero() && !q.To.Time.IsZero() && q.From.Time.After(q.To.Time):
		return fmt.Errorf("%w: it begins behind its end", ErrQuestion)
	}
	for _, node := range slices.Sorted(maps.Keys(q.Capacity)) {
		if q.Capacity[node] == (events.Resources{}) {
			return fmt.Errorf("%w: the capacity of %s says nothing: a part of 0 is as the node says it", ErrQuestion, node)
		}
	}
	return nil
}
