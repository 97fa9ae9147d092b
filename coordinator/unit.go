package coordinator

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// span is a run of the round's records that come from one unit.
type span struct {
	unit  events.Unit
	first int
}

// at sets the unit that the turn works on from here on, so that a panic is attributed to it. It reports false for a unit that
// the coordinator leaves alone. A unit that made earlier rounds fail is left alone throughout this round, even if its input
// changes meanwhile.
func (t *Turn) at(u events.Unit) bool {
	t.Working = u
	if why, blamed := t.Blamed[u]; blamed && !t.Cluster.Shuns(u) {
		t.cause = events.Cause{}
		t.emit(u.Scope, events.UnitShunned{Work: u.Work, Sequence: u.Sequence, Message: why})
	}
	if t.leavesAlone(u) {
		return false
	}
	return true
}

func (t *Turn) leavesAlone(u events.Unit) bool {
	_, blamed := t.Blamed[u]
	return blamed || (len(t.Cluster.Shunned) > 0 && t.Cluster.Shuns(u))
}

func (t *Turn) atService(work events.Work, id events.ServiceID) bool {
	return t.at(events.Unit{Work: work, Scope: events.ServiceScope(id)})
}

func (t *Turn) atNode(work events.Work, node string) bool {
	return t.at(events.Unit{Work: work, Scope: events.NodeScope(node)})
}

func (t *Turn) atCluster(work events.Work) bool {
	return t.at(events.Unit{Work: work, Scope: events.ClusterScope})
}

// reconciles reports whether the turn reconciles this service right now.
func (t *Turn) reconciles(id events.ServiceID) bool {
	return t.Working.Work == events.WorkReconcile && t.Working.Scope == events.ServiceScope(id)
}

// Units returns how many runs of events of one unit the round has.
func (t *Turn) Units() int { return len(t.spans) }

// UnitOf returns the unit that led to the record at this index in the round.
func (t *Turn) UnitOf(record int) events.Unit {
	for i := len(t.spans) - 1; i >= 0; i-- {
		if t.spans[i].first <= record {
			return t.spans[i].unit
		}
	}
	return events.Unit{}
}

// Skip leaves a status alone that the coordinator failed to process for this reason.
func (t *Turn) Skip(u events.Unit, why string) {
	t.Working, t.cause = u, events.Cause{}
	t.emit(u.Scope, events.UnitShunned{Work: u.Work, Sequence: u.Sequence, Message: why})
}

// Retry retries all units that are left alone, because another coordinator may not fail there.
func (t *Turn) Retry() {
	t.Working, t.cause = events.Unit{}, events.Cause{}
	for len(t.Cluster.Shunned) > 0 {
		u := t.Cluster.Shunned[0].Unit
		t.emit(u.Scope, events.UnitRetried{Work: u.Work, Sequence: u.Sequence})
	}
}

// hampered fails a command that cannot end because of a unit that is left alone. It reports false if there is no such unit.
func (t *Turn) hampered(cmd *projections.Command) bool {
	hampers := t.Cluster.Hampers(cmd)
	if hampers == nil {
		return false
	}
	message := hampers.String() // read before the group ends, which the text may name
	t.cause = cmd.Cause
	if g := t.Cluster.Groups[cmd.Sequence]; g != nil {
		t.emit(cmd.Scope(), events.GroupEnded{Command: g.Command, Outcome: events.GroupAbandoned, Services: g.Names()})
		t.work.addAll(g.Members())
	}
	t.emit(cmd.Scope(), events.CommandFailed{Sequence: cmd.Sequence, Reason: events.ReasonInternal, Message: message})
	return true
}
