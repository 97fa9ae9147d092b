package coordinator

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// span is a run of the round's records that one unit led to.
type span struct {
	unit  events.Unit
	first int
}

// at says which unit is worked on from here on: a panic is put down to it. It reports false for one that is left alone. One that rounds before
// failed on is so throughout this round, whatever changes its input meanwhile.
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

// reconciles reports whether the service is the one that is reconciled just now.
func (t *Turn) reconciles(id events.ServiceID) bool {
	return t.Working.Work == events.WorkReconcile && t.Working.Scope == events.ServiceScope(id)
}

// Units returns how many units the round has events of, one after the other.
func (t *Turn) Units() int { return len(t.spans) }

// UnitOf returns the unit that led to the record at this place in the round.
func (t *Turn) UnitOf(record int) events.Unit {
	for i := len(t.spans) - 1; i >= 0; i-- {
		if t.spans[i].first <= record {
			return t.spans[i].unit
		}
	}
	return events.Unit{}
}

// Skip has a status be left alone, which the coordinator failed to take in for this reason.
func (t *Turn) Skip(u events.Unit, why string) {
	t.Working, t.cause = u, events.Cause{}
	t.emit(u.Scope, events.UnitShunned{Work: u.Work, Sequence: u.Sequence, Message: why})
}

// Retry has all that is shunned be tried again: another coordinator may not fail there.
func (t *Turn) Retry() {
	t.Working, t.cause = events.Unit{}, events.Cause{}
	for len(t.Cluster.Shunned) > 0 {
		u := t.Cluster.Shunned[0].Unit
		t.emit(u.Scope, events.UnitRetried{Work: u.Work, Sequence: u.Sequence})
	}
}

// hampered fails a command that a shunned unit keeps from its end. It reports false where there is no such unit.
func (t *Turn) hampered(cmd *projections.Command) bool {
	hampers := t.Cluster.Hampers(cmd)
	if hampers == nil {
		return false
	}
	message := hampers.String() // with the group that is gone too
	t.cause = cmd.Cause
	if g := t.Cluster.Groups[cmd.Sequence]; g != nil {
		t.emit(cmd.Scope(), events.GroupEnded{Command: g.Command, Outcome: events.GroupAbandoned, Services: g.Names()})
		t.agenda.addAll(g.Members())
	}
	t.emit(cmd.Scope(), events.CommandFailed{Sequence: cmd.Sequence, Reason: events.ReasonInternal, Message: message})
	return true
}
