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
	// MaxEvents is the most messages of the log between From and To.
	MaxEvents = 1_000_000
	// MaxSpan is the longest time between From and To.
	MaxSpan = 400 * 24 * time.Hour
	// MaxCapacities is the most nodes with another capacity.
	MaxCapacities = 10_000
)

// Errors of a question without an answer, wrapped with the reason.
var (
	// ErrQuestion occurs when the question makes no sense, or does not fit this log.
	ErrQuestion = errors.New("this cannot be asked")
	// ErrTooMuch occurs when the slice of the log is longer than the bounds.
	ErrTooMuch = errors.New("too much of the log is asked for")
	// ErrSimulated occurs when the past cannot run again.
	ErrSimulated = errors.New("the past cannot be simulated")
)

// Question is what should be different in the past, and in which part of it.
type Question struct {
	// Policy replaces every policy that was in force; nil to keep those.
	Policy *events.Policy
	// Capacity replaces the capacity that nodes reported, by the nodes' names. A resource that is 0 stays as reported.
	Capacity map[string]events.Resources
	// From and To bound the part: from the first round that begins at From or later to the last that ends at To or before. Zero
	// means the beginning and the end of the log.
	From, To Moment
}

// Moment is a place in the log: a sequence, or a time. Zero means no moment.
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
	return Moment{}, fmt.Errorf("%w: %q is not a place in the log: want a sequence as in 4711, or a time as in 2026-11-01T12:00:00Z", ErrQuestion, text)
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

// UnmarshalJSON parses a text or a number as ParseMoment does.
func (m *Moment) UnmarshalJSON(body []byte) (err error) {
	*m, err = ParseMoment(strings.Trim(string(body), `"`))
	return err
}

// Before reports whether the moment lies before the end of a round; false for the zero moment.
func (m Moment) Before(r events.Record) bool {
	return (m.Sequence > 0 && r.Sequence > m.Sequence) || (!m.Time.IsZero() && r.Time.After(m.Time))
}

// After reports whether the moment lies after the end of a round; false for the zero moment.
func (m Moment) After(r events.Record) bool {
	return (m.Sequence > 0 && r.Sequence < m.Sequence) || (!m.Time.IsZero() && r.Time.Before(m.Time))
}

// ParseCapacity reads the nodes' other capacities, each as in node-0.memory=32GiB, node-0.cpu=8 or node-0.disk=1TiB.
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
			return nil, fmt.Errorf("%w: %q is not a capacity: want one as in node-0.memory=32GiB, with cpu, memory or disk", ErrQuestion, text)
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
		return fmt.Errorf("%w: %d nodes have another capacity: want at most %d", ErrQuestion, len(q.Capacity), MaxCapacities)
	case q.From.Sequence > 0 && q.To.Sequence > 0 && q.From.Sequence > q.To.Sequence,
		!q.From.Time.IsZero() && !q.To.Time.IsZero() && q.From.Time.After(q.To.Time):
		return fmt.Errorf("%w: its from is after its to", ErrQuestion)
	}
	for _, node := range slices.Sorted(maps.Keys(q.Capacity)) {
		if q.Capacity[node] == (events.Resources{}) {
			return fmt.Errorf("%w: the capacity of %s is empty: want cpu, memory or disk above 0", ErrQuestion, node)
		}
	}
	return nil
}
