package coordinator

import (
	"github.com/rookery-project/rookery/coordinator/placement"
	"github.com/rookery-project/rookery/events"
)

// askRebalance begins a rebalancing, which replaces one that is under way, or sets what happens when nodes join.
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

// rebalance moves the next instance once the former move has ended. If no instance needs to move, it ends the rebalancing.
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
		if m, found := t.work.board.BestMove(r.Terms); found {
			t.beginMove(m)
			return
		}
	}
	t.emit(events.ClusterScope, ended)
}

// beginMove places the successor of an instance. The instance runs until the successor serves.
func (t *Turn) beginMove(m placement.Move) {
	id := m.Instance.ID
	s := t.Cluster.Services[id.Service]
	t.succeed(s, m.Instance, s.Target(id.Ordinal), m.Decision)
	delete(t.work.services, id.Service) // nothing to do for the service until a node reports the successor
}
