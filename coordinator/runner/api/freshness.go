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

// freshness is of which state an answer is.
type freshness struct {
	sequence uint64
	age      time.Duration
	known    bool
}

type freshnessKey struct{}

// NoteFreshness notes which state the answer in progress is read from, if ctx is that of one: where it ends in the log, and how long ago the coordinator
// learned that the log ends there. Of several reads the last counts.
func NoteFreshness(ctx context.Context, sequence uint64, age time.Duration) {
	if f, ok := ctx.Value(freshnessKey{}).(*freshness); ok {
		*f = freshness{sequence, age, true}
	}
}

// headers say of which state an answer is.
func (f *freshness) headers() events.Header {
	if !f.known {
		return nil
	}
	h := events.Header{
		bus.HeaderSequence: {strconv.FormatUint(f.sequence, 10)},
		bus.HeaderAge:      {f.age.Round(time.Millisecond).String()},
	}
	if f.age > staleAfter {
		h[bus.HeaderStale] = []string{fmt.Sprintf("for %s the coordinator has not heard that this is the newest state: later decisions may be missing",
			f.age.Round(time.Second))}
	}
	return h
}
