package coordinator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
)

// ask decides a command in a round of its own, and returns the events.
func (h *house) ask(subject, body string) string {
	h.input++
	r := events.ParseRequest(events.Message{Subject: events.CommandRoot + "." + subject, Sequence: h.input, Body: []byte(body), Header: events.Header{}})
	return h.round(func(turn *coordinator.Turn) { turn.Command(r) })
}

// TestWhatIsShunnedIsTriedAgain makes the coordinator fail on a service. The coordinator leaves the service alone, its command
// fails, and other services continue. The coordinator tries it again after Retry, and after its input changes.
func TestWhatIsShunnedIsTriedAgain(t *testing.T) {
	h := newHouse(t)
	h.joins(1, 4)
	web := events.Unit{Work: events.WorkReconcile, Scope: events.ServiceScope(events.ServiceID{Namespace: "demo", Name: "web"})}
	wants := func(step, told string, all ...string) {
		t.Helper()
		for _, want := range all {
			without, absent := strings.CutPrefix(want, "no ")
			if strings.Contains(told, without) == absent {
				t.Errorf("%s: want %s in\n%s", step, want, told)
			}
		}
	}
	failing := func(input func(*coordinator.Turn)) string {
		return h.round(func(turn *coordinator.Turn) {
			turn.Blamed = map[events.Unit]string{web: "it panicked"}
			input(turn)
		})
	}
	h.input++
	create := events.ParseRequest(events.Message{Subject: events.CommandRoot + ".service.demo.web.ensure", Sequence: h.input, Body: []byte(`{"image":"i"}`)})
	wants("it fails", failing(func(turn *coordinator.Turn) { turn.Command(create) }), "service.demo.web.unit.shunned", "no placed")
	wants("another one", h.ask("service.demo.other.ensure", `{"image":"i"}`), "service.demo.other.instance.placed", "no demo.web")
	wants("time passes", h.round((*coordinator.Turn).Due), `service.demo.web.command.failed {"sequence":1,"reason":"internal"`)
	if !h.cluster.Shuns(web) || h.cluster.HampersAt(web.Scope, 0) == nil || h.cluster.HampersAt(events.ServiceScope(events.ServiceID{Namespace: "demo", Name: "other"}), 0) != nil {
		t.Errorf("shunned are %v", h.cluster.Shunned)
	}
	wants("it is tried again", h.round((*coordinator.Turn).Retry), "service.demo.web.unit.retried", "service.demo.web.instance.placed")
	h.input++
	scale := events.ParseRequest(events.Message{Subject: events.CommandRoot + ".service.demo.web.scale", Sequence: h.input, Body: []byte(`{"scale":2}`)})
	wants("it fails again", failing(func(turn *coordinator.Turn) { turn.Command(scale) }), "service.demo.web.unit.shunned", "no placed")
	wants("its input changes", h.ask("service.demo.web.scale", `{"scale":3,"busy":"supersede"}`), "service.demo.web.instance.placed")
	if len(h.cluster.Shunned) > 0 {
		t.Errorf("shunned are %v still", h.cluster.Shunned)
	}
}

// TestInputsAreUnits checks that each input is the unit at work, and that its events name no other cause.
func TestInputsAreUnits(t *testing.T) {
	h := newHouse(t)
	h.joins(1, 4)
	create := events.ParseRequest(events.Message{Subject: events.CommandRoot + ".service.demo.web.ensure", Sequence: 9, Body: []byte(`{"image":"i"}`)})
	var told string
	h.round(func(turn *coordinator.Turn) {
		turn.Command(create)
		turn.Status(7, events.Status{Node: "n0", Engine: &events.EngineStatus{Epoch: 1, Counter: 1, Degraded: "slow"}})
		if want := (events.Unit{Work: events.WorkStatus, Scope: events.NodeScope("n0"), Sequence: 7}); turn.Working != want {
			t.Errorf("a status is the unit %v, want %v", turn.Working, want)
		}
		turn.Command(create) // the inbox is read again
		before := len(turn.Records)
		turn.Silent("n0")
		turn.Command(create)
		turn.Returned("n0")
		for _, r := range turn.Records[before:] {
			if r.Cause != (events.Cause{}) {
				t.Errorf("%s is caused by %+v", r.Data.Kind(), r.Cause)
			}
		}
		turn.Refuse(events.Request{Sequence: 10, Scope: events.NodeScope("n0"), Verb: "pause"}, "it panicked")
		told = tell(turn.Records[len(turn.Records)-1:])
	})
	if !strings.Contains(told, `"code":"internal"`) || !strings.Contains(told, "it panicked") {
		t.Errorf("a refused command is answered with %s", told)
	}
}

// services writes a group's command with count services from number first on; no service finds a node.
func services(first, count int) string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprintf(`"s%d":{"image":"i","node_selector":{"no":"where"}}`, first+i))
	}
	return `"services":{` + strings.Join(all, ",") + `}`
}

func TestGroupsHaveSoManyServicesInAll(t *testing.T) {
	h := newHouse(t)
	h.joins(1, 4)
	const full = events.MaxGrouped / events.MaxMembers
	for i := range full {
		if told := h.ask(fmt.Sprintf("group.demo.g%d.ensure", i), "{"+services(i*events.MaxMembers, events.MaxMembers)+"}"); strings.Contains(told, "rejected") {
			t.Fatalf("group %d: %s", i, told)
		}
	}
	if told := h.ask("group.demo.more.ensure", "{"+services(events.MaxGrouped, 1)+"}"); !strings.Contains(told, `"code":"out-of-range","field":"services"`) {
		t.Errorf("one more: %s", told)
	}
	if told := h.ask("group.demo.g0.ensure", `{"busy":"supersede",`+services(0, events.MaxMembers)+"}"); strings.Contains(told, "rejected") {
		t.Errorf("one in place of another: %s", told)
	}
}

// TestOneCommandTakesThePlaceOfSoMany lets a group supersede as many commands as fit into a round beside others, and more than
// that.
func TestOneCommandTakesThePlaceOfSoMany(t *testing.T) {
	const waiting = events.MaxQueued
	for count, taken := range map[int]bool{11: true, 12: false} { // each with one that holds it: two events for each command
		h := newHouse(t)
		h.joins(1, 4)
		for i := range count {
			h.ask(fmt.Sprintf("service.demo.s%d.ensure", i), `{"image":"i","node_selector":{"no":"where"}}`)
			for n := range waiting {
				h.ask(fmt.Sprintf("service.demo.s%d.scale", i), fmt.Sprintf(`{"scale":%d,"busy":"queue"}`, n+2))
			}
		}
		if told := h.ask("group.demo.all.ensure", `{"busy":"supersede",`+services(0, count)+"}"); strings.Contains(told, "rejected") == taken {
			t.Errorf("in place of %d commands: %.300s", count*(1+waiting), told)
		}
	}
	for count, taken := range map[int]bool{6: true, 7: false} { // two more for each service that goes back
		h := newHouse(t)
		h.joins(1, 4)
		var all []string
		for i := range count {
			h.ask(fmt.Sprintf("group.demo.g%d.ensure", i), "{"+services(i*events.MaxMembers, events.MaxMembers)+"}")
			all = append(all, fmt.Sprintf(`"s%d":{"image":"i"}`, i*events.MaxMembers))
		}
		if told := h.ask("group.demo.all.ensure", `{"busy":"supersede","services":{`+strings.Join(all, ",")+"}}"); strings.Contains(told, "rejected") == taken {
			t.Errorf("in place of %d groups: %.300s", count, told)
		}
	}
}
