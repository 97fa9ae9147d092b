package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/coordinator/whatif"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// whatIfTimeout bounds how long the coordinator simulates the past for a question. For longer simulations, operators run `rookery what-if`.
const whatIfTimeout = 30 * time.Second

var errLogEnds = errors.New("the log cannot be read any more")

// WhatIfQuestion asks what would have happened with another policy, or with other capacities of nodes.
type WhatIfQuestion struct {
	// Policy is the body of rookery.cmd.cluster.policy.
	Policy   jsontext.Value              `json:"policy,omitempty"`
	Capacity map[string]events.Resources `json:"capacity,omitempty"`
	From     whatif.Moment               `json:"from,omitzero"`
	To       whatif.Moment               `json:"to,omitzero"`
}

// Question returns what is asked, or a *events.Rejection of the policy.
func (q WhatIfQuestion) Question() (whatif.Question, error) {
	asked := whatif.Question{Capacity: q.Capacity, From: q.From, To: q.To}
	if len(q.Policy) == 0 {
		return asked, nil
	}
	c, err := events.ParseClusterPolicy(q.Policy)
	if err != nil {
		return asked, fmt.Errorf("read the policy: %w", err)
	}
	asked.Policy = new(c.Policy())
	return asked, nil
}

// askWhatIf answers the question `what-if`. From the loop it needs only the current place in the log.
func (s *Server) askWhatIf(ctx context.Context, body []byte) ([]byte, error) {
	var q WhatIfQuestion
	if err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true)); err != nil {
		return nil, &bus.QuestionError{
			Code: 400, Reason: fmt.Sprintf(`ask with {"policy":{"profile":"optimize-utilization"},"capacity":{"node-0":{"memory":"32GiB"}},"from":1,"to":4711}: %v`, err),
		}
	}
	asked, err := q.Question()
	if err != nil {
		return nil, &bus.QuestionError{Code: 400, Reason: err.Error()}
	}
	if !s.simulates.TryLock() {
		return nil, &bus.QuestionError{Code: 429, Reason: "the coordinator is simulating another past: ask again later, or run `rookery what-if`"}
	}
	defer s.simulates.Unlock()
	ctx, cancel := context.WithTimeout(ctx, whatIfTimeout)
	defer cancel()
	var at uint64
	if err := s.State(ctx, func(c *projections.Cluster, _ bool) { at = c.Sequence }); err != nil {
		return nil, err
	}
	report, err := whatif.Run(ReadLog(ctx, s.Bus, 1, at), asked)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, &bus.QuestionError{Code: 413, Reason: fmt.Sprintf("it takes longer than %s: ask for less of the log, or run `rookery what-if`", whatIfTimeout)}
	case errors.Is(err, snapshots.ErrTrimmed):
		return nil, &bus.QuestionError{Code: 404, Reason: err.Error()}
	case errors.Is(err, whatif.ErrQuestion):
		return nil, &bus.QuestionError{Code: 400, Reason: err.Error()}
	case errors.Is(err, whatif.ErrTooMuch):
		return nil, &bus.QuestionError{Code: 413, Reason: err.Error()}
	case err != nil:
		return nil, err
	}
	return json.Marshal(report, json.Deterministic(true))
}

// ReadLog yields the log from one sequence to another, where the first message has sequence 1. It can be read again. If the log no longer
// has the first of these messages, the error is snapshots.ErrTrimmed.
func ReadLog(ctx context.Context, b bus.Bus, from, to uint64) whatif.Log {
	return func(yield func(events.Message, error) bool) {
		if from > to {
			return
		}
		opening, cancel := context.WithTimeout(ctx, bus.CallTimeout)
		defer cancel()
		reader, err := b.Read(opening, bus.Log, from)
		if err != nil {
			yield(events.Message{}, err)
			return
		}
		defer reader.Stop()
		for first := true; ; first = false {
			select {
			case <-ctx.Done():
				yield(events.Message{}, ctx.Err())
				return
			case m, ok := <-reader.Messages():
				switch {
				case !ok:
					yield(events.Message{}, errLogEnds)
					return
				case first && m.Sequence != from:
					yield(events.Message{}, fmt.Errorf("%w: it begins at sequence %d: name the folder of its archive with --archive", snapshots.ErrTrimmed, m.Sequence))
					return
				}
				if !yield(m, nil) || m.Sequence >= to {
					return
				}
			}
		}
	}
}
