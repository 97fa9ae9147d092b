package runner

import (
	"context"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// beatHandler answers heartbeats from the state of the last closed round, as long as the lease rules out another leader.
func (c *Coordinator) beatHandler(ctx context.Context, l *lease) func(events.Message) (events.Message, error) {
	return func(m events.Message) (events.Message, error) {
		node := strings.TrimPrefix(m.Subject, events.HeartbeatRoot+".")
		beat, of, err := events.DecodeAs[events.Heartbeat](m)
		if err != nil || !events.ValidName(node) {
			return events.Message{}, err
		}
		var answer events.HeartbeatAnswer
		expired := false
		if err := c.put(ctx, node, beat, func(c *Coordinator) { answer, expired = c.answerBeat(node, beat), l.expired() }); err != nil {
			return events.Message{}, err
		}
		if expired {
			return events.Message{}, &bus.QuestionError{Code: 503, Reason: "another coordinator may lead by now: ask again"}
		}
		return events.Encode("", answer, events.Attributes{
			ID: node + "/" + of.ID, Source: "/rookery/" + answer.Log, Time: c.Now(),
		})
	}
}

func (c *Coordinator) answerBeat(node string, beat events.Heartbeat) events.HeartbeatAnswer {
	answer := events.HeartbeatAnswer{Log: c.cluster.LogID(), List: max(c.list, c.lists[node])}
	n := c.cluster.Nodes[node]
	if n == nil || n.Forgotten {
		return answer
	}
	switch {
	case n.Incarnation == beat.Incarnation:
		answer.Epoch, answer.Machine, answer.Orders, answer.Degraded = n.Epoch, n.MachineSince, n.Orders, n.Degraded != ""
	case n.Was(beat.Incarnation):
		answer.Superseded = true
	}
	return answer
}
