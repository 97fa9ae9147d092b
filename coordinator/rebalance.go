package coordinator

import (
	"github.com/rookery-project/rookery/coordinator/placement"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// askRebalance begins a rebalancing, in place of one that is under way, or sets what happens when nodes join.
func (t *Turn) askRebalance(r events.Request, c events.ClusterRebalance) {
	terms := c.Terms()
	switch {
	case c.When == events.RebalanceNow:
		t.atOnce(r, events.RebalanceStarted{RebalanceTerms: terms})
	case c.When == events.RebalanceNoMore && t.Cluster.OnJoin == nil,
		c.When == events.RebalanceOnJoin && t.Cluster.OnJoin != nil && *t.Cluster.OnJoin == terms:
		t.atOnce(r)
	case c.When == events.RebalanceNoMore:
		t.atOnce(r, events.RebalanceSet{})
	default:
		t.atOnce(r, events.RebalanceSet{Terms: &terms})
	}
}

// rebalance has the next instance move, once the one before has, or ends where none is to.
func (t *Turn) rebalance() {
	r := t.Cluster.Rebalance
	if !t.atCluster(events.WorkRebalance) || r == nil {
		return
	}
	t.cause = r.Cause
	ended := events.RebalanceEnded{Moved: r.Moved, Reason: events.RebalanceDone}
	switch {
	case r.Failed != "":
		ended.Reason, ended.Message = events.RebalanceFailed, r.Failed
	case t.Cluster.InMotion():
		return
	case r.Begun == r.Terms.MaxMoves:
		ended.Reason = events.RebalanceMaxMoves
	default:
		if m, found := t.agenda.board.BestMove(r.Terms); found {
			t.beginMove(m)
			return
		}
	}
	t.emit(events.ClusterScope, ended)
}

// beginMove places the successor of an instance that runs on until that one serves.
func (t *Turn) beginMove(m placement.Move) {
	id := m.Instance.ID
	s := t.Cluster.Services[id.Service]
	placed := t.placement(s, id.Ordinal, s.Target(id.Ordinal), m.Decision)
	placed.Replaces = id.Generation
	t.emit(events.ServiceScope(id.Service), placed)
	delete(t.agenda.services, id.Service) // there is nothing to do for it before its successor is seen
}

// swap retires the instances whose successors serve, and the successors that never will. One of an earlier revision goes
// with its wave alone, and what succeeds it is given time to come to serve; one whose node is drained as that says, also in its own revision
// while the update waits for people.
func (t *Turn) swap(s *projections.Service) {
	for _, slot := range s.Slots {
		next := slot.Next
		if next == nil || slot.Current == nil {
			continue
		}
		retires, reason := (*projections.Instance)(nil), events.RetireMoveFailed
		own := next.Revision == slot.Current.Revision && waitsForPeople(s.Operation)
		switch moves := own || s.UpToDate(slot.Current); {
		case !own && (!s.UpToDate(next) || (moves && next.Revision != s.Revision)):
			retires, reason = next, events.RetireRevised
		case unfit(s, next) != "":
			retires, reason = next, unfit(s, next)
		case !t.Cluster.Nodes[next.Node].Heard():
			retires = next
		case moves && !t.moves(slot):
			retires, reason = next, events.RetireMoveUndone
		case moves && next.Seen.Phase == events.PhaseOnline && !next.Lost && !t.Cluster.Nodes[slot.Current.Node].Draining():
			retires, reason = slot.Current, events.RetireMoved
		case moves && next.Seen.Phase > events.PhaseOnline:
			retires = next
		}
		if retires != nil {
			t.retire(retires, reason)
		}
	}
}

// moves reports whether the slot is to be elsewhere still: for a rebalancing, or as its node is drained.
func (t *Turn) moves(slot *projections.Slot) bool {
	r := t.Cluster.Rebalance
	return (r != nil && r.Moving == slot.Next.ID) || t.Cluster.Nodes[slot.Current.Node].Draining()
}

// moveDue ends a move that takes too long.
func (t *Turn) moveDue() {
	r := t.Cluster.Rebalance
	if !t.atCluster(events.WorkDue) || r == nil || t.Now.Before(r.Since.Add(MoveDeadline)) {
		return
	}
	t.reserve(MaxPerInput)
	if i := t.Cluster.Instance(r.Moving); i != nil && t.Cluster.Services[i.ID.Service].Slots[i.ID.Ordinal].Next == i {
		t.cause = r.Cause
		t.retire(i, events.RetireMoveFailed)
	}
}
