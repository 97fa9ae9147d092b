package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

const (
	// trimTimeout bounds how long the leader takes to trim a part of the log.
	trimTimeout = 2 * time.Minute
	// trimStep is how many messages are purged at once: rounds wait for that.
	trimStep = 500_000
)

// Trim asks the leader to trim the log before the round that ends at a place. The client must have archived all that is trimmed, and folded
// it to the state with this hash.
type Trim struct {
	Log      string `json:"log"`
	Sequence uint64 `json:"sequence"`
	Hash     string `json:"hash"`
}

// Trimmed is the leader's answer.
type Trimmed struct {
	// First is the sequence of the first message that is kept.
	First uint64 `json:"first"`
}

// trimHandler answers on events.TrimSubject for as long as the coordinator leads.
func (c *Coordinator) trimHandler(ctx context.Context, l *lease) func(events.Message) (events.Message, error) {
	return func(m events.Message) (events.Message, error) {
		ctx, cancel := context.WithTimeout(ctx, trimTimeout)
		defer cancel()
		answer, err := c.trim(ctx, l, m.Body)
		if err != nil {
			return bus.Refuse(events.Message{}, err), nil
		}
		body, err := json.Marshal(answer)
		return events.Message{Header: events.Header{}, Body: body}, err
	}
}

// trim trims the log before a round whose state is kept as a snapshot. It reads the snapshot and checks it against the log and against the
// hash that the client computed. The last messages before the end of the round stay: a fold that begins with the snapshot reads the round
// again.
func (c *Coordinator) trim(ctx context.Context, l *lease, body []byte) (t Trimmed, err error) {
	var asked Trim
	if err := json.Unmarshal(body, &asked, json.RejectUnknownMembers(true)); err != nil || asked.Sequence == 0 {
		return t, &bus.QuestionError{Code: 400, Reason: "trim the log with `rookery archive`: it has the hash of what it has written"}
	}
	state, err := c.Bus.State(ctx, bus.Log)
	if err != nil {
		return t, err
	}
	if state.Identity != asked.Log {
		return t, &bus.QuestionError{Code: 409, Reason: fmt.Sprintf("the log is %s, and not %s", state.Identity, asked.Log)}
	}
	at, hash, err := snapshots.Last(ctx, c.Bus, c.Log, asked.Sequence, c.Signers)
	switch {
	case err != nil:
		return t, err
	case at != asked.Sequence:
		return t, &bus.QuestionError{Code: 409, Reason: fmt.Sprintf("there is no snapshot of the fold at %d that verifies: nothing is trimmed", asked.Sequence)}
	case hash != asked.Hash:
		return t, &bus.QuestionError{Code: 409, Reason: fmt.Sprintf("the state at %d has the hash %s, and what was archived folds to %s", at, hash, asked.Hash)}
	}
	below := max(at, bus.MaxBatch) - bus.MaxBatch + 1
	for next := state.First; next < below; {
		if err := c.mayLead(ctx, l); err != nil {
			return t, err
		}
		next = min(next+trimStep, below)
		if err := c.Bus.Purge(ctx, bus.Log, next); err != nil {
			return t, err
		}
	}
	c.Log.Info("trimmed the beginning of the log, which is archived", "below", below, "snapshot", at)
	return Trimmed{max(below, state.First)}, nil
}

// mayLead returns an error if another coordinator may lead by now.
func (c *Coordinator) mayLead(ctx context.Context, l *lease) error {
	leads := false
	if err := c.put(ctx, func(c *Coordinator) { leads = c.leading && !l.expired() }); err != nil {
		return err
	}
	if !leads {
		return &bus.QuestionError{Code: 503, Reason: "another coordinator may lead by now: ask again"}
	}
	return nil
}
