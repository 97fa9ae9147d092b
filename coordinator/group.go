package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/coordinator/operation"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// stepGroups takes each group one step further if the condition for that step holds. It reports whether any group took a step.
func (t *Turn) stepGroups() bool {
	went := false
	for _, sequence := range slices.Sorted(maps.Keys(t.Cluster.Groups)) {
		g := t.Cluster.Groups[sequence]
		if t.at(events.Unit{Work: events.WorkReconcile, Scope: events.GroupScope(g.ID)}) && t.passed(g) {
			t.stepGroup(g)
			went = true
		}
	}
	return went
}

// passed reports whether every service whose stage has begun is at its target, and has been reconciled since. When the group
// goes back, it does not wait for a service that needs the operator, or that the coordinator left alone because of a defect.
func (t *Turn) passed(g *projections.Group) bool {
	if g.Aborted != "" && !g.Back {
		return true
	}
	for _, id := range g.Present() {
		if _, unseen := t.work.services[id]; unseen {
			return false
		}
		s := t.Cluster.Services[id]
		if g.Back && (s == nil || waitsForOperator(s.Operation) || t.Cluster.HampersAt(events.ServiceScope(id), 0) != nil) {
			continue
		}
		if s == nil || !s.Proven(t.Now) {
			return false
		}
	}
	return true
}

// waitsForOperator reports whether an operation waits for the operator.
func waitsForOperator(op *projections.Operation) bool {
	return op.AwaitsPromotion() || (op != nil && op.Paused != "")
}

// stepGroup begins the next stage of the group, or ends the group after the last stage.
func (t *Turn) stepGroup(g *projections.Group) {
	const step, perMember = 2, 3
	t.reserve(step + perMember*len(g.Services))
	t.cause = t.Cluster.Commands[g.Command].Cause
	switch last := uint32(len(g.Stages)); {
	case g.Aborted == "" && g.Stage < last:
		t.enterStage(g, g.Stage+1)
	case g.Aborted == "":
		t.endGroup(g, events.GroupDone)
	case !g.Back && g.Stage > 0:
		t.enterStage(g, g.Stage)
	case g.Stage > 1:
		t.enterStage(g, g.Stage-1)
	default:
		t.endGroup(g, events.GroupGoneBack)
	}
}

// enterStage changes the services of a stage, or returns them if the group is aborted.
func (t *Turn) enterStage(g *projections.Group, stage uint32) {
	names := g.Stages[stage-1]
	t.emit(events.GroupScope(g.ID), events.GroupEntered{
		Command: g.Command, Stage: stage, Services: names, Before: t.before(g, names), Back: g.Aborted != "",
	})
	for _, name := range names {
		id := g.ID.Member(name)
		t.work.add(id)
		if g.Back {
			t.restore(g, id)
			continue
		}
		changes, err := t.memberChanges(id, g.Services[name])
		if err != nil {
			t.abort(g, name, err.Error())
			return
		}
		for _, change := range changes {
			t.emit(events.ServiceScope(id), change)
		}
	}
}

// before returns the services' targets ahead of their change. It leaves out services that do not exist or are being dropped. It
// returns nil when the group goes back.
func (t *Turn) before(g *projections.Group, names []string) map[string]events.GroupBefore {
	if g.Aborted != "" {
		return nil
	}
	before := map[string]events.GroupBefore{}
	for _, name := range names {
		if s := t.Cluster.Services[g.ID.Member(name)]; s != nil && !s.Dropped {
			before[name] = events.GroupBefore{Revision: s.Revision, Scale: s.Scale}
		}
	}
	return before
}

// restore returns a service to the target that it had before its group.
func (t *Turn) restore(g *projections.Group, id events.ServiceID) {
	s := t.Cluster.Services[id]
	if s == nil {
		return
	}
	changes := drop(s)
	if before, was := g.Before[id.Name]; was {
		revision := before.Revision
		if now := s.Current(); !s.Dropped && now.Hash == s.Revisions[revision].Hash && slices.Contains(now.Keeps, revision) {
			revision = s.Revision // the service returns to that revision by itself
		}
		changes = operation.GoBack(t.Cluster, s, revision, before.Scale)
	}
	for _, change := range changes {
		t.emit(events.ServiceScope(id), change)
	}
}

// failed makes the group go back, unless the group has not changed the service yet: then an earlier command's target failed.
func (t *Turn) failed(g *projections.Group, id events.ServiceID, message string) {
	if slices.Contains(g.Reached(), id) {
		t.abort(g, id.Name, message)
	}
}

// abort makes the group return all services that it has changed, from the next round on, because one of them cannot reach its
// target.
func (t *Turn) abort(g *projections.Group, name, message string) {
	if g.Aborted != "" {
		return
	}
	if name != "" {
		message = fmt.Sprintf("service %s: %s", g.ID.Member(name), message)
	}
	t.emit(events.GroupScope(g.ID), events.GroupAborted{Command: g.Command, Service: name, Message: message})
}

// endGroup ends the group and its command, and releases its services.
func (t *Turn) endGroup(g *projections.Group, outcome events.GroupOutcome) {
	scope := events.GroupScope(g.ID)
	t.emit(scope, events.GroupEnded{Command: g.Command, Outcome: outcome, Services: g.Names()})
	if outcome == events.GroupDone {
		t.emit(scope, events.CommandSucceeded{Sequence: g.Command})
	} else {
		t.emit(scope, events.CommandFailed{Sequence: g.Command, Reason: events.ReasonGroupAborted, Message: g.Aborted})
	}
	t.work.addAll(g.Members())
}

// groupDue aborts a group if one of its services makes no progress within the deadline of its spec. A group that is going back
// takes its next step instead.
func (t *Turn) groupDue(g *projections.Group) {
	if t.Cluster.Recovering || (g.Aborted != "" && !g.Back) {
		return
	}
	for _, id := range g.Present() {
		s := t.Cluster.Services[id]
		if shunned := t.Cluster.HampersAt(events.ServiceScope(id), 0); shunned != nil && g.Aborted == "" {
			t.cause = t.Cluster.Commands[g.Command].Cause
			t.abort(g, id.Name, shunned.String())
			return
		}
		if s == nil || s.Settled() || t.Now.Before(t.deadlineOf(id, t.counts(g, id))) {
			continue
		}
		t.cause = t.Cluster.Commands[g.Command].Cause
		if g.Back {
			t.stepGroup(g)
		} else {
			t.abort(g, id.Name, "it has made no progress within its deadline: "+missing(t.Cluster, s))
		}
		return
	}
}

// counts returns when the progress deadline of a group's service begins. After a failover each service gets its whole deadline
// again, because no leader listened to it meanwhile.
func (t *Turn) counts(g *projections.Group, id events.ServiceID) time.Time {
	if since := g.Since(id); since.After(t.work.began) {
		return since
	}
	return t.work.began
}
