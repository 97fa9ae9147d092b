package coordinator

import (
	"math"
	"time"

	"github.com/rookery-project/rookery/coordinator/placement"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// PlannedMove is an instance that a rebalancing would move.
type PlannedMove struct {
	Service string `json:"service"`
	Ordinal uint32 `json:"ordinal"`
	From    string `json:"from"`
	To      string `json:"to"`
	// Gain is how much better the new node is, in thousandths of a point.
	Gain int64 `json:"gain"`
}

// PlanRebalance returns the moves of a rebalancing that begins now, in order. It assumes that every successor comes to serve
// and that nothing else happens. It changes the state on the way, so the caller must not use that state afterwards.
func PlanRebalance(c *projections.Cluster, terms events.RebalanceTerms, now time.Time) []PlannedMove {
	var moves []PlannedMove
	t := NewTurn(c, NewWorkQueue(c), now)
	t.most = math.MaxInt
	t.emit(events.ClusterScope, events.RebalanceStarted{RebalanceTerms: terms})
	for len(moves) < int(terms.MaxMoves) {
		t.work.board.At(now)
		m, found := t.work.board.BestMove(terms)
		if !found {
			break
		}
		moves = append(moves, PlannedMove{
			Service: m.Instance.ID.Service.String(), Ordinal: m.Instance.ID.Ordinal, From: m.Instance.Node, To: m.Decision.Node.Name, Gain: m.Gain,
		})
		t.carryOut(m)
	}
	return moves
}

// carryOut lets the successor come to serve and removes the instance.
func (t *Turn) carryOut(m placement.Move) {
	t.beginMove(m)
	gone := m.Instance
	service := events.ServiceScope(gone.ID.Service)
	next := t.Cluster.Services[gone.ID.Service].Slots[gone.ID.Ordinal].Next
	t.emit(service, events.InstanceOnline{InstanceSeen: seenOf(next, events.PhaseOnline)})
	t.emit(service, events.InstanceRetired{Ordinal: gone.ID.Ordinal, Generation: gone.ID.Generation, Reason: events.RetireMoved})
	t.emit(service, events.InstanceRemoved{InstanceSeen: seenOf(gone, events.PhaseRemoved)})
}

func seenOf(i *projections.Instance, phase events.Phase) events.InstanceSeen {
	return events.InstanceSeen{
		Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Node: i.Node, Position: events.Position{Phase: phase},
	}
}
