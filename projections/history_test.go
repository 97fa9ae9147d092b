package projections

import (
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
)

// TestAHistoryHasWhatBecameOfEachCommand takes events about a service and about groups of its namespace, and events of a torn round, which the
// coordinator decided again.
func TestAHistoryHasWhatBecameOfEachCommand(t *testing.T) {
	web := events.ServiceID{Namespace: "demo", Name: "web"}
	service, shop, other := events.ServiceScope(web), events.GroupScope(events.GroupID{Namespace: "demo", Name: "shop"}),
		events.GroupScope(events.GroupID{Namespace: "demo", Name: "other"})
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	identity := func(sequence uint64, verb string) events.CommandIdentity {
		return events.CommandIdentity{Sequence: sequence, Verb: verb, ID: "id", Source: "ci", Digest: verb}
	}
	h := NewHistory(web)
	for i, e := range []events.Event{
		{Scope: shop, Data: events.CommandAccepted{CommandIdentity: identity(2, "ensure")}},
		{Scope: shop, Data: events.GroupStarted{Command: 2, Services: map[string]events.GroupMember{"web": {}}}},
		{Scope: other, Data: events.CommandAccepted{CommandIdentity: identity(3, "ensure")}},
		{Scope: other, Data: events.GroupStarted{Command: 3, Services: map[string]events.GroupMember{"db": {}}}},
		{Scope: service, Data: events.CommandAccepted{CommandIdentity: identity(1, "ensure")}}, // its round was torn
		{Scope: service, Data: events.CommandAccepted{CommandIdentity: identity(1, "ensure")}},
		{Scope: service, Data: events.CommandSucceeded{Sequence: 1}},
		{Scope: service, Data: events.CommandRejected{CommandIdentity: identity(4, "scale"), Rejection: events.Rejection{Code: events.CodeBusy, Reason: "busy"}, Holder: 2}},
		{Scope: service, Data: events.CommandAccepted{CommandIdentity: identity(5, "scale"), Queued: true}},
		{Scope: service, Data: events.CommandBegun{Sequence: 5}},
		{Scope: service, Data: events.CommandFailed{Sequence: 5, Reason: "progress_deadline", Message: "late"}},
		{Scope: service, Data: events.CommandAccepted{CommandIdentity: identity(1, "drop")}}, // of an inbox that was created again
	} {
		h.Take(events.Record{Event: e, Sequence: uint64(i) + 1, Time: start.Add(time.Duration(i) * time.Second)})
	}
	all := h.Commands()
	at := func(i int) time.Time { return start.Add(time.Duration(i) * time.Second) }
	want := []Asked{
		{Command: 2, Group: "demo/shop", Verb: "ensure", ID: "id", Source: "ci", At: at(0), Sequence: 1, Outcome: Accepted},
		{Command: 1, Verb: "ensure", ID: "id", Source: "ci", At: at(5), Sequence: 6, Outcome: Succeeded, Ended: at(6)},
		{Command: 4, Verb: "scale", ID: "id", Source: "ci", At: at(7), Sequence: 8, Outcome: Rejected, Ended: at(7), Code: "busy", Message: "busy", Other: 2},
		{
			Command: 5, Verb: "scale", ID: "id", Source: "ci", At: at(8), Sequence: 9, Outcome: Failed, Queued: true, Begun: at(9), Ended: at(10),
			Code: "progress_deadline", Message: "late",
		},
		{Command: 1, Verb: "drop", ID: "id", Source: "ci", At: at(11), Sequence: 12, Outcome: Accepted},
	}
	if len(all) != len(want) {
		t.Fatalf("%d commands, want %d: %+v", len(all), len(want), all)
	}
	for i, a := range all {
		a.digest = ""
		if a != want[i] {
			t.Errorf("command %d is %+v, want %+v", i, a, want[i])
		}
	}
}
