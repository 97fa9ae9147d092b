package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
)

// TestGroupsAreCheckedBeforeTheyAreAskedFor checks pieces of a Compose project that fit into one command, and some that do not.
func TestGroupsAreCheckedBeforeTheyAreAskedFor(t *testing.T) {
	long := strings.Repeat("a", 40_000)
	for _, c := range []struct {
		asks []events.ServiceEnsure
		want string // part of the error; empty for none
	}{
		{make([]events.ServiceEnsure, events.MaxMembers), ""},
		{make([]events.ServiceEnsure, events.MaxMembers+1), "33 services of shop change together, and one command takes 32"},
		{[]events.ServiceEnsure{{Guard: events.Guard{Busy: events.BusyQueue}}}, ""},
		{[]events.ServiceEnsure{{Guard: events.Guard{Busy: events.BusyQueue}}, {Guard: events.Guard{Busy: events.BusyQueue}}}, "a00 has " +
			"busy: queue, but a group cannot queue"},
		{[]events.ServiceEnsure{{}, {Guard: events.Guard{Busy: events.BusyReject}}}, ""},
		{[]events.ServiceEnsure{{Guard: events.Guard{Busy: events.BusySupersede}}, {Guard: events.Guard{Busy: events.BusySupersede}}}, ""},
		{[]events.ServiceEnsure{{Guard: events.Guard{Busy: events.BusySupersede}}, {}}, "a00 has busy: supersede and if_seq: 0, and a01 has busy: reject"},
		{[]events.ServiceEnsure{{}, {Guard: events.Guard{SeenAt: events.SeenAt{IfSeq: 3}}}}, "a01 has busy: reject and if_seq: 3"},
		{[]events.ServiceEnsure{{Spec: events.Spec{Image: long}}, {Spec: events.Spec{Image: long}}}, "2 services of shop change together: the command has 8"},
	} {
		p := &plan{Namespace: "shop", composed: composed{grouped: true}}
		for i, ask := range c.asks {
			p.Steps = append(p.Steps, &step{Service: events.ServiceID{Namespace: "shop", Name: fmt.Sprintf("a%02d", i)}, Action: actionCreate, ask: ask})
		}
		err := p.checkGroups()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d services: %v, want %q", len(c.asks), err, c.want)
		}
	}
}

// TestAGroupTakesThePolicyOfItsServices gives all services the same busy policy.
func TestAGroupTakesThePolicyOfItsServices(t *testing.T) {
	supersede := events.ServiceEnsure{Guard: events.Guard{Busy: events.BusySupersede, SeenAt: events.SeenAt{IfSeq: 7}}}
	p := &plan{Namespace: "shop", composed: composed{grouped: true, after: map[string][]string{"web": {"db"}}}}
	got, err := p.groupCommand([]*step{{Service: events.ServiceID{Name: "web"}, ask: supersede}, {Service: events.ServiceID{Name: "db"}, ask: supersede}})
	if err != nil || got.Guard != supersede.Guard || strings.Join(got.Services["web"].After, " ") != "db" {
		t.Errorf("the command is %+v: %v", got, err)
	}
}
