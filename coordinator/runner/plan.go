package runner

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// PlanQuestion asks what a command to a service would do.
type PlanQuestion struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Verb      string         `json:"verb"`
	Body      jsontext.Value `json:"body"`
}

// askPlan answers the question `plan`. The log is folded for it, so that the loop goes on meanwhile. It asks the loop for nothing but the place in the log that it is at, and for its time.
func (c *Coordinator) askPlan(ctx context.Context, body []byte) ([]byte, error) {
	var q PlanQuestion
	if err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true)); err != nil || q.Namespace == "" || q.Name == "" || q.Verb == "" {
		return nil, &bus.QuestionError{
			Code: 400, Reason: `ask with {"namespace":"demo","name":"web","verb":"ensure","body":{"image":"localhost/web:2"}}`,
		}
	}
	return c.inTurn(ctx, c.plans, func(ctx context.Context) ([]byte, error) { return c.plan(ctx, q) })
}

func (c *Coordinator) plan(ctx context.Context, q PlanQuestion) ([]byte, error) {
	var at uint64
	var now time.Time
	if err := c.put(ctx, "", events.Heartbeat{}, func(c *Coordinator) { at, now = c.cluster.Sequence, c.cluster.Now }); err != nil {
		return nil, err
	}
	fold, reader, err := c.folds().begin(ctx, at)
	if err != nil {
		return nil, err
	}
	defer reader.Stop()
	if err := to(ctx, fold, reader, at); err != nil {
		return nil, err
	}
	state := fold.Cluster
	if state.Recovering {
		return nil, &bus.QuestionError{Code: 503, Reason: "nodes are still to say what they have: ask again"}
	}
	id := events.ServiceID{Namespace: q.Namespace, Name: q.Name}
	r := events.ParseRequest(events.Message{Subject: events.CommandSubject(id, q.Verb), Body: q.Body})
	return json.Marshal(coordinator.PlanCommand(state, r, now), json.Deterministic(true))
}
