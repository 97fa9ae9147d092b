package api

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// staleAfter is how old a state may be before its answers say so. A leader renews its lease, and a standby reads it, several times meanwhile.
const staleAfter = 5 * time.Second

// seen is which state an answer was read from.
type seen struct {
	sequence uint64
	age      time.Duration
	known    bool
}

type seenKey struct{}

// See notes which state the answer in progress is read from, if ctx is that of one: where it ends in the log, and how long ago the coordinator
// learned that the log ends there. Of several reads the last counts.
func See(ctx context.Context, sequence uint64, age time.Duration) {
	if s, ok := ctx.Value(seenKey{}).(*seen); ok {
		*s = seen{sequence, age, true}
	}
}

// headers say of which state an answer is.
func (s *seen) headers() events.Header {
	if !s.known {
		return nil
	}
	h := events.Header{
		bus.HeaderSequence: {strconv.FormatUint(s.sequence, 10)},
		bus.HeaderAge:      {s.age.Round(time.Millisecond).String()},
	}
	if s.age > staleAfter {
		h[bus.HeaderStale] = []string{fmt.Sprintf("for %s the coordinator has not heard that this is the newest state: later decisions may be missing",
			s.age.Round(time.Second))}
	}
	return h
}
