package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// planTimeout bounds how long a plan may take: the log is folded for it, so that the loop goes on meanwhile.
const planTimeout = 30 * time.Second

// PlanQuestion asks what a command to a service would do.
type PlanQuestion struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Verb      string         `json:"verb"`
	Body      jsontext.Value `json:"body"`
}

// askPlan answers the question `plan`. It asks the loop for nothing but the place in the log that it is at, and for its time.
func (c *Coordinator) askPlan(ctx context.Context, body []byte) ([]byte, error) {
	var q PlanQuestion
	if err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true)); err != nil || q.Namespace == "" || q.Name == "" || q.Verb == "" {
		return nil, &bus.QuestionError{
			Code: 400, Reason: `ask with {"namespace":"demo","name":"web","verb":"ensure","body":{"image":"localhost/web:2"}}`,
		}
	}
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	var at uint64
	var now time.Time
	if err := c.put(ctx, "", events.Heartbeat{}, func(c *Coordinator) { at, now = c.cluster.Sequence, c.cluster.Now }); err != nil {
		return nil, err
	}
	state, err := c.foldTo(ctx, at)
	if err != nil {
		return nil, &bus.QuestionError{Code: 503, Reason: fmt.Sprintf("the log cannot be folded for a plan: %v", err)}
	}
	if state.Recovering {
		return nil, &bus.QuestionError{Code: 503, Reason: "nodes are still to say what they have: ask again"}
	}
	id := events.ServiceID{Namespace: q.Namespace, Name: q.Name}
	r := events.ParseRequest(events.Message{Subject: events.CommandSubject(id, q.Verb), Body: q.Body})
	return json.Marshal(coordinator.PlanCommand(state, r, now), json.Deterministic(true))
}

// foldTo returns the state that the log has at the end of the round with this sequence.
func (c *Coordinator) foldTo(ctx context.Context, at uint64) (*projections.Cluster, error) {
	fold := projections.NewFold()
	if at == 0 {
		return fold.Cluster, nil
	}
	reader, err := c.Bus.Read(ctx, bus.Log, 1)
	if err != nil {
		return nil, err
	}
	defer reader.Stop()
	for fold.Cluster.Sequence < at {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case m, ok := <-reader.Messages():
			if !ok {
				return nil, errors.New("it cannot be read any more")
			}
			if _, err := fold.Take(m); err != nil {
				return nil, err
			}
		}
	}
	return fold.Cluster, nil
}
