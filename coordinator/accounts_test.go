package coordinator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// sent decides a command with this id, and returns the events that it leads to.
func (h *house) sent(subject, id, body string) []events.Record {
	h.input++
	m := events.Message{Subject: subject, Sequence: h.input, Body: []byte(body), Header: events.Header{
		"ce-specversion": {"1.0"}, "ce-id": {id}, "ce-source": {"/test"}, "ce-type": {"io.rookery.service.v1.ensure"},
	}}
	h.round(func(turn *coordinator.Turn) { turn.Command(events.ParseRequest(m)) })
	return h.decided
}

// rejected returns why the first of these events rejects a command, or "".
func rejected(of []events.Record) string {
	if d, is := of[0].Data.(events.CommandRejected); is {
		return d.Reason
	}
	return ""
}

// TestSubjectsNameTheSenderWhereAccountsAreOn sends commands with and without a user, where accounts are on and where they are off.
func TestSubjectsNameTheSenderWhereAccountsAreOn(t *testing.T) {
	const plain, body = "rookery.cmd.service.demo.web.ensure", `{"image":"localhost/a:1"}`
	off := newHouse(t)
	if why := rejected(off.sent(events.CommandBy("ann", plain), "1", body)); !strings.Contains(why, "accounts are off here") {
		t.Errorf("accounts are off, and a command by a user is rejected with %q", why)
	}
	on := newHouse(t)
	with := adoption("1")
	with.Accounts = true
	on.round(func(turn *coordinator.Turn) { turn.Found(with, 0) })
	if on.cluster.Level != events.LevelSignatures || !on.cluster.Accounts {
		t.Errorf("the cluster is at level %d, and accounts are on: %t", on.cluster.Level, on.cluster.Accounts)
	}
	if why := rejected(on.sent(plain, "1", body)); !strings.Contains(why, "publish to rookery.cmd.by.<user>") {
		t.Errorf("accounts are on, and a command without a user is rejected with %q", why)
	}
	for _, r := range on.sent(events.CommandBy("ann", plain), "2", body) {
		if r.Cause.Actor != "ann" {
			t.Errorf("%s has the actor %q", r.Data.Kind(), r.Cause.Actor)
		}
	}
	// The same id from another user is another command.
	for _, r := range on.sent(events.CommandBy("ben", plain), "2", body) {
		if d, is := r.Data.(events.CommandRejected); !is || d.Code != events.CodeBusy || r.Cause.Actor != "ben" {
			t.Errorf("%s has the actor %q: %+v", r.Data.Kind(), r.Cause.Actor, r.Data)
		}
	}
}

// TestWhoEndsACommandIsTheActor supersedes a command of another user.
func TestWhoEndsACommandIsTheActor(t *testing.T) {
	h := newHouse(t)
	with := adoption("1")
	with.Accounts = true
	h.round(func(turn *coordinator.Turn) { turn.Found(with, 0) })
	const subject = "rookery.cmd.service.demo.web.ensure"
	h.sent(events.CommandBy("ann", subject), "1", `{"image":"localhost/a:1"}`)
	superseded := false
	for _, r := range h.sent(events.CommandBy("ben", subject), "1", `{"image":"localhost/b:1","busy":"supersede"}`) {
		if d, is := r.Data.(events.CommandSuperseded); is {
			superseded = d.Sequence == h.input-1 && r.Cause.Correlation == d.Sequence
		}
		if r.Cause.Actor != "ben" {
			t.Errorf("%s has the actor %q", r.Data.Kind(), r.Cause.Actor)
		}
	}
	if !superseded {
		t.Error("the command of ann is not superseded")
	}
}

// TestCommandsArePlannedWhereAccountsAreOn asks what commands of a user would do: to a service, to a node and to the cluster.
func TestCommandsArePlannedWhereAccountsAreOn(t *testing.T) {
	for subject, body := range map[string]string{
		"service.demo.web.ensure": `{"image":"localhost/a:1"}`, "node.a.drain": `{}`, "node.a.pause": `{}`, "cluster.rebalance": `{}`,
	} {
		h := newHouse(t)
		h.takesIn("a", "one", events.Program{Levels: events.OwnLevels})
		h.cluster.Accounts, h.cluster.Level = true, events.OwnLevels.Most
		asked := events.ParseRequest(events.Message{Subject: events.CommandBy("ann", events.CommandRoot+"."+subject), Body: []byte(body)})
		var rejected *events.Rejection
		switch p := coordinator.PlanRequest(h.cluster, asked, coordinator.Running{}, h.now).(type) {
		case coordinator.Plan:
			rejected = p.Rejection
		case coordinator.CommandPlan:
			rejected = p.Rejection
		case coordinator.DrainPlan:
			rejected = p.Rejection
		case coordinator.RebalancePlan: // it has no sender
		default:
			t.Errorf("%s: the plan is a %T", subject, p)
		}
		if rejected != nil {
			t.Errorf("%s would be rejected: %v", subject, rejected)
		}
	}
}

// TestSessionsAreRecordedWhereAccountsAreOn reports sessions with an instance, by its own node and by another, and with one that is gone.
func TestSessionsAreRecordedWhereAccountsAreOn(t *testing.T) {
	h := newHouse(t)
	own := events.Program{Levels: events.OwnLevels}
	h.takesIn("a", "one", own)
	h.sent("rookery.cmd.service.demo.web.ensure", "1", `{"image":"localhost/a:1"}`)
	opened := func(node, service string, generation uint32) string {
		return h.statusOf(events.Status{Node: node, Program: own, Session: &events.SessionStatus{
			Namespace: "demo", Name: service, Generation: generation, Session: events.SessionExec, User: "ann",
		}})
	}
	if got := opened("a", "web", 1); got != "nothing\n" {
		t.Errorf("accounts are off, and a session leads to %s", got)
	}
	h.cluster.Accounts, h.cluster.Level = true, events.OwnLevels.Most
	h.takesIn("b", "two", own)
	for _, row := range []struct {
		node, service string
		generation    uint32
		want          bool
	}{{"a", "web", 1, true}, {"a", "web", 7, true}, {"b", "web", 1, false}, {"a", "none", 1, false}} {
		got := opened(row.node, row.service, row.generation)
		if is := strings.Contains(got, "service.demo.web.instance.session-opened"); is != row.want {
			t.Errorf("a session on %s with %s of generation %d leads to %s", row.node, row.service, row.generation, got)
		}
		if row.want && h.decided[0].Cause.Actor != "ann" {
			t.Errorf("the actor of the session is %q", h.decided[0].Cause.Actor)
		}
	}
}

// TestANewClusterBeginsAtTheLevelOfItsLeader founds clusters, and records other streams in one that is there already.
func TestANewClusterBeginsAtTheLevelOfItsLeader(t *testing.T) {
	for _, row := range []struct {
		level    events.Level
		accounts bool
		want     events.Level
	}{{0, false, 0}, {3, false, 3}, {3, true, events.LevelSignatures}, {events.LevelSignatures + 1, true, events.LevelSignatures + 1}} {
		h := &house{t: t, cluster: projections.NewCluster(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
		h.work = coordinator.NewWorkQueue(h.cluster)
		first := adoption("1")
		first.Accounts = row.accounts
		h.round(func(turn *coordinator.Turn) { turn.Found(first, row.level) })
		if h.cluster.Level != row.want {
			t.Errorf("%+v: it begins at level %d", row, h.cluster.Level)
		}
		h.cluster.Round = 1
		other := adoption("2")
		other.Accounts = row.accounts
		h.round(func(turn *coordinator.Turn) { turn.Found(other, row.want+1) })
		if h.cluster.Level != row.want {
			t.Errorf("%+v: it is raised to level %d by a newer leader", row, h.cluster.Level)
		}
	}
}
