package api

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// Limits of the question `history`.
const (
	// DefaultHistory is the default number of commands in an answer.
	DefaultHistory = 100
	// MaxHistory is the greatest number of commands in an answer.
	MaxHistory = 1000
)

// HistoryQuestion asks for the last commands to a service.
type HistoryQuestion struct {
	// Service is the service, as in demo/web. It may be removed already.
	Service string `json:"service"`
	// Limit is how many commands to return; default 100. Before asks for those decided before this place in the log; 0 asks for the last
	// ones.
	Limit  int    `json:"limit,omitzero" jsonschema:"minimum=1,maximum=1000"`
	Before uint64 `json:"before,omitzero"`
	// Actor asks for the commands that this user sent; "" asks for those of all.
	Actor string `json:"actor,omitempty"`
}

// History is the answer to the question `history`.
type History struct {
	Service string `json:"service"`
	// Sequence is the place in the log that the answer is true at.
	Sequence uint64 `json:"sequence"`
	// Earlier counts the commands before the first of these.
	Earlier  int                 `json:"earlier,omitzero"`
	Commands []projections.Asked `json:"commands"`
}

// askHistory answers the question `history` from the log: the state forgets commands after a day.
func (s *Server) askHistory(ctx context.Context, body []byte) ([]byte, error) {
	q := HistoryQuestion{Limit: DefaultHistory}
	err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true))
	if err != nil || q.Limit < 1 || q.Limit > MaxHistory {
		return nil, &bus.QuestionError{Code: 400, Reason: fmt.Sprintf(
			`ask with {"service":"demo/web"}, and with "limit" from 1 to %d and "before":4711, a place in the log, for earlier ones, or "actor":"ann"`, MaxHistory)}
	}
	id, err := events.ParseServiceID(q.Service)
	if err != nil {
		return nil, &bus.QuestionError{Code: 400, Reason: err.Error()}
	}
	var end uint64
	if err := s.State(ctx, func(c *projections.Cluster, _ bool) { end = c.Sequence }); err != nil {
		return nil, err
	}
	return s.inPast(ctx, func(ctx context.Context) ([]byte, error) {
		all, err := s.commandsOf(ctx, id, end)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(a projections.Asked) bool {
			return (q.Before > 0 && a.Sequence >= q.Before) || (q.Actor != "" && a.Actor != q.Actor)
		})
		h := History{Service: id.String(), Sequence: end, Earlier: max(len(all)-q.Limit, 0)}
		h.Commands = all[h.Earlier:]
		return json.Marshal(h, json.Deterministic(true))
	})
}

// commandsOf reads the outcomes of the service's commands, and of those to groups of its namespace, up to a place in the log.
func (s *Server) commandsOf(ctx context.Context, id events.ServiceID, end uint64) ([]projections.Asked, error) {
	h := projections.NewHistory(id)
	voids, err := voidsIn(ctx, s.Bus)
	if err != nil {
		return nil, err
	}
	for _, filter := range []string{
		events.LogRoot + ".group." + id.Namespace + ".>",
		events.LogRoot + ".service." + id.Namespace + "." + id.Name + ".command.>",
	} {
		for from := uint64(1); ; {
			page, err := s.Bus.Matching(ctx, bus.Log, filter, from)
			if err != nil {
				return nil, err
			}
			for _, m := range page {
				if m.Sequence > end {
					break
				}
				if r, err := events.ParseRecord(m); err == nil && !voids.have(m.Sequence) {
					h.Take(r)
				}
			}
			if len(page) < bus.MatchingPage {
				break
			}
			from = page[len(page)-1].Sequence + 1
		}
	}
	return h.Commands(), nil
}
