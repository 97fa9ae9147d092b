package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// ExplainQuestion asks why an instance is on its node, or why none can have it.
type ExplainQuestion struct {
	// Service is the one, as demo/web.
	Service string `json:"service"`
	// Ordinal is the slot; the one that was decided on last where there is none.
	Ordinal *uint32 `json:"ordinal,omitzero"`
	// Sequence is the place of the decision in the log; 0 for the last.
	Sequence uint64 `json:"sequence,omitzero"`
}

// askExplain answers the question `explain`: it makes the decision once more from the log as it was then.
func (s *Server) askExplain(ctx context.Context, body []byte) ([]byte, error) {
	var q ExplainQuestion
	if err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true)); err != nil {
		return nil, &bus.QuestionError{Code: 400, Reason: `ask with {"service":"demo/web"}, and with "ordinal":2 or "sequence":4711 for one decision`}
	}
	id, err := events.ParseServiceID(q.Service)
	if err != nil {
		return nil, &bus.QuestionError{Code: 400, Reason: err.Error()}
	}
	now, err := s.explainNow(ctx, id, q)
	if err != nil {
		return nil, err
	}
	return s.inPast(ctx, func(ctx context.Context) ([]byte, error) {
		decision, err := s.decisionOn(ctx, id, q, now)
		switch {
		case err != nil:
			return nil, err
		case decision.Sequence > 0:
		case len(now.shunned) > 0:
			return nil, &bus.QuestionError{Code: 409, Reason: now.shunned[0]}
		case now.missing != "":
			return nil, &bus.QuestionError{Code: 404, Reason: now.missing}
		default:
			return nil, &bus.QuestionError{Code: 404, Reason: fmt.Sprintf("the log has no decision on a node for %s that fits: see `rookery events %s`", id, id)}
		}
		state, err := s.before(ctx, decision.Sequence)
		if err != nil {
			return nil, err
		}
		x, err := coordinator.Explain(state, decision)
		x.Shunned = now.shunned
		if errors.Is(err, coordinator.ErrOtherPolicy) {
			return nil, &bus.QuestionError{Code: 409, Reason: err.Error()}
		}
		if err != nil {
			return nil, err
		}
		if ns := within(ctx); ns != "" && x.Hold != nil && namespaceOf(x.Hold.Service) != ns {
			x.Hold.Service = ""
		}
		return json.Marshal(x, json.Deterministic(true))
	})
}

// explained is what the present state has of a service that is asked for.
type explained struct {
	// shunned says what is left alone of it, and missing that there is no such service.
	shunned []string
	missing string
	// end is up to where the log is closed.
	end uint64
	// waits says that the slot waits for a node: the decision on the first slot of the service that does so is that on all of them.
	waits bool
}

func (s *Server) explainNow(ctx context.Context, id events.ServiceID, q ExplainQuestion) (now explained, err error) {
	err = s.State(ctx, func(c *projections.Cluster, _ bool) {
		now.end = c.Sequence
		for _, s := range c.ShunnedOf(events.ServiceScope(id)) {
			now.shunned = append(now.shunned, s.String())
		}
		switch of := c.Services[id]; {
		case of == nil:
			now.missing = c.NoService(id.String(), within(ctx))
		case q.Ordinal != nil && q.Sequence == 0:
			now.waits = of.Pends(*q.Ordinal)
		}
	})
	return now, err
}

// decisionOn returns the last decision on a node that is asked for; an empty record where the log has none.
func (s *Server) decisionOn(ctx context.Context, id events.ServiceID, q ExplainQuestion, now explained) (events.Record, error) {
	var last, waiting events.Record
	voids, err := voidsIn(ctx, s.Bus)
	if err != nil {
		return last, err
	}
	for _, kind := range []events.Kind{events.InstancePlaced{}.Kind(), events.InstancePending{}.Kind()} {
		filter := events.ServiceScope(id).LogSubject(kind)
		for from := max(q.Sequence, 1); ; {
			page, err := s.Bus.Matching(ctx, bus.Log, filter, from)
			if err != nil {
				return last, err
			}
			for _, m := range page {
				r, err := events.ParseRecord(m)
				if err != nil || m.Sequence > now.end || voids.have(m.Sequence) {
					continue
				}
				_, ordinal, is := coordinator.OnNode(r)
				switch _, waits := r.Data.(events.InstancePending); {
				case !is:
				case r.Sequence > last.Sequence && q.fits(r.Sequence, ordinal):
					last = r
				case waits && now.waits:
					waiting = r
				}
			}
			if q.Sequence > 0 || len(page) < bus.MatchingPage {
				break
			}
			from = page[len(page)-1].Sequence + 1
		}
	}
	if last.Sequence == 0 {
		last = waiting
	}
	return last, nil
}

func (q ExplainQuestion) fits(sequence uint64, ordinal uint32) bool {
	return (q.Sequence == 0 || sequence == q.Sequence) && (q.Ordinal == nil || ordinal == *q.Ordinal)
}

// before returns the state in which the event at this place in the log was decided: with what was decided before it in the same round.
func (s *Server) before(ctx context.Context, sequence uint64) (*projections.Cluster, error) {
	fold, reader, err := s.Folds.Begin(ctx, sequence-1)
	if err != nil {
		return nil, err
	}
	defer reader.Stop()
	if err := snapshots.To(ctx, fold, reader, sequence-1); err != nil || fold.Cluster.Sequence == sequence-1 {
		return fold.Cluster, err
	}
	open, err := snapshots.LastRound(ctx, s.Bus, sequence-1)
	if err != nil {
		return nil, err
	}
	for _, r := range open {
		if err := fold.Cluster.Apply(r); err != nil {
			return nil, err
		}
	}
	return fold.Cluster, nil
}
