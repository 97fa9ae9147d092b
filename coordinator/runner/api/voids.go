package api

import (
	"context"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// voids are the parts of the log that count for nothing.
type voids []events.RoundVoid

func (v voids) have(sequence uint64) bool {
	for _, void := range v {
		if void.From <= sequence && sequence <= void.To {
			return true
		}
	}
	return false
}

// voidsIn finds what is void in the log, without folding it, and what no round has closed yet. One that closed rounds stand in was not written
// by a coordinator. Where rounds are signed it was: the rounds in it were not.
func voidsIn(ctx context.Context, b bus.Bus) (voids, error) {
	var found voids
	filter := events.ClusterScope.LogSubject(events.RoundVoid{}.Kind())
	for from := uint64(1); ; {
		page, err := b.Matching(ctx, bus.Log, filter, from)
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			r, err := events.ParseRecord(m)
			void, ok := r.Data.(events.RoundVoid)
			if err != nil || !ok || void.To != m.Sequence-1 {
				continue
			}
			closed, err := closedIn(ctx, b, void.From, void.To)
			if err != nil {
				return nil, err
			}
			if !closed || events.HasSignature(m) {
				found = append(found, void)
			}
		}
		if len(page) < bus.MatchingPage {
			return found, nil
		}
		from = page[len(page)-1].Sequence + 1
	}
}

// closedIn reports whether a round is closed in a part of the log.
func closedIn(ctx context.Context, b bus.Bus, from, to uint64) (bool, error) {
	for {
		page, err := b.Matching(ctx, bus.Log, events.LogRoot+".round", from)
		if err != nil {
			return false, err
		}
		for _, m := range page {
			if m.Sequence > to {
				return false, nil
			}
			r, err := events.ParseRecord(m)
			if _, closed := r.Data.(events.RoundClosed); err == nil && closed {
				return true, nil
			}
		}
		if len(page) < bus.MatchingPage {
			return false, nil
		}
		from = page[len(page)-1].Sequence + 1
	}
}
