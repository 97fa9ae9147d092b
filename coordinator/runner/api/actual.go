package api

import (
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// Actual is the answer to the question `actual`: what a node reported last, as far as the log has it.
type Actual struct {
	Node  string `json:"node"`
	Epoch uint64 `json:"epoch"`
	// Silent says that the node sends no heartbeats: the fields below may be out of date.
	Silent bool `json:"silent"`
	// Instances are the instances that the node has or was ordered to run, in order. Unexpected are its orphans.
	Instances  []ActualInstance    `json:"instances"`
	Unexpected []events.InstanceID `json:"unexpected"`
	// LogSequence is the place in the log that the answer is true at.
	LogSequence uint64 `json:"log_sequence"`
}

// ActualInstance is what a node reported of one instance.
type ActualInstance struct {
	Instance events.InstanceID `json:"instance"`
	Revision uint64            `json:"revision"`
	// The ordered action: run or stop.
	Shall events.Action `json:"shall"`
	// Phase is how far it has come; Attempt counts its restarts on the node.
	Phase    string               `json:"phase"`
	Attempt  uint32               `json:"attempt"`
	Reason   events.OfflineReason `json:"reason,omitempty"`
	ExitCode *int32               `json:"exit_code,omitzero"`
	Message  string               `json:"message,omitempty"`
}

// ActualQuestion asks what a node reported.
type ActualQuestion struct {
	Node string `json:"node"`
}

func (s *Server) askActual(ctx context.Context, body []byte) (answer []byte, err error) {
	var q ActualQuestion
	if err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true)); err != nil || !events.ValidName(q.Node) {
		return nil, &bus.QuestionError{Code: 400, Reason: `ask with {"node":"edge-1"}`}
	}
	asked := s.State(ctx, func(c *projections.Cluster, _ bool) { answer, err = actual(c, q.Node) })
	return answer, errors.Join(asked, err)
}

func actual(c *projections.Cluster, node string) ([]byte, error) {
	n := c.Nodes[node]
	if n == nil {
		return nil, &bus.QuestionError{Code: 404, Reason: c.NoNode(node)}
	}
	a := Actual{
		Node: node, Epoch: n.Epoch, Silent: n.Silent, LogSequence: c.Sequence,
		Instances: []ActualInstance{}, Unexpected: make([]events.InstanceID, 0, len(n.Orphans)),
	}
	for _, s := range c.Services {
		for i := range s.Instances() {
			if i.Node == node {
				a.Instances = append(a.Instances, actualOf(c, i))
			}
		}
	}
	for id := range n.Orphans {
		a.Unexpected = append(a.Unexpected, id)
	}
	slices.SortFunc(a.Instances, func(x, y ActualInstance) int { return x.Instance.Compare(y.Instance) })
	slices.SortFunc(a.Unexpected, events.InstanceID.Compare)
	return json.Marshal(a)
}

func actualOf(c *projections.Cluster, i *projections.Instance) ActualInstance {
	return ActualInstance{
		Instance: i.ID, Revision: i.Revision, Shall: c.Order(i).Action, Phase: i.Seen.Phase.String(), Attempt: i.Seen.Attempt,
		Reason: i.Ended().Reason, ExitCode: i.Ended().ExitCode, Message: i.Ended().Message,
	}
}
