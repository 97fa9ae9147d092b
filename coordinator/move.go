package coordinator

import (
	"time"

	"github.com/rookery-project/rookery/coordinator/placement"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// MoveDeadline is how long the successor of an instance that moves may take to serve.
const MoveDeadline = 10 * time.Minute

// minRetry and maxRetry bound how long a slot waits after a successor that did not come to serve. The wait doubles each time.
const minRetry, maxRetry = 5 * time.Second, time.Minute

// placeBeside places a successor of this revision, for a wave or a drain. The successor replaces the instance once it serves.
// placeBeside reports whether a node has room.
func (t *Turn) placeBeside(s *projections.Service, i *projections.Instance, revision uint64) bool {
	d := t.work.board.ChooseBeside(s, i, revision)
	if d.Node == nil {
		return false
	}
	t.succeed(s, i, revision, d)
	return true
}

// succeed records the instance's successor on the chosen node.
func (t *Turn) succeed(s *projections.Service, i *projections.Instance, revision uint64, d placement.Decision) {
	placed := t.placement(s, i.ID.Ordinal, revision, d)
	placed.Replaces = i.ID.Generation
	t.emit(events.ServiceScope(s.ID), placed)
}

// swap retires the instances whose successors serve, and the successors that never will. An instance of an earlier revision
// stops only with its wave, which gives its successor time to come to serve. On a draining node, the drain decides when an
// instance stops. While an update waits for the operator, this also holds for a successor of the instance's own revision.
func (t *Turn) swap(s *projections.Service) {
	for _, slot := range s.Slots {
		next := slot.Next
		if next == nil || slot.Current == nil {
			continue
		}
		retires, reason := (*projections.Instance)(nil), events.RetireMoveFailed
		own := next.Revision == slot.Current.Revision && waitsForOperator(s.Operation)
		switch moves := own || s.UpToDate(slot.Current); {
		case !own && (!s.UpToDate(next) || (moves && next.Revision != s.Revision)):
			retires, reason = next, events.RetireRevised
		case unfit(s, next) != "":
			retires, reason = next, unfit(s, next)
		case !t.Cluster.Nodes[next.Node].Live():
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

// moves reports whether the slot still must move to another node: for a rebalancing, or because its node is draining.
func (t *Turn) moves(slot *projections.Slot) bool {
	r := t.Cluster.Rebalance
	return (r != nil && r.Moving == slot.Next.ID) || t.Cluster.Nodes[slot.Current.Node].Draining()
}

// succeeds reports whether the successor has served for at least min_healthy, so that clients could learn of it.
func (t *Turn) succeeds(s *projections.Service, slot *projections.Slot) bool {
	least := time.Duration(*s.Current().Spec.Updates().MinHealthy)
	return !slot.Beside().NextServes.IsZero() && !t.Now.Before(slot.Beside().NextServes.Add(least)) && t.Cluster.Nodes[slot.Next.Node].Live()
}

// retriedAt returns when a slot may have its next successor after one that never served.
func retriedAt(slot *projections.Slot) time.Time {
	if slot.Beside().Tries == 0 {
		return time.Time{}
	}
	wait := minRetry
	for n := uint32(1); n < slot.Beside().Tries && wait < maxRetry; n++ {
		wait *= 2
	}
	return slot.Beside().TriedAt.Add(min(wait, maxRetry))
}

// moving counts the slots of the service with a successor that does not serve yet. The successor of an update that waits for
// the operator does not count: it may stay for any time.
func moving(s *projections.Service) (count int) {
	for _, slot := range s.Slots {
		if slot.Next != nil && (!waitsForOperator(s.Operation) || slot.Next.Revision == slot.Current.Revision) {
			count++
		}
	}
	return count
}

// besides returns how many slots of the service may have a successor at once: as many as an update replaces at once.
func besides(s *projections.Service) int {
	const afterCanaries = 1
	return max(1, s.Current().Spec.Updates().WaveSize(afterCanaries, s.Wanted()))
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
