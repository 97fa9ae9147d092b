package main

import (
	"testing"

	"github.com/rookery-project/rookery/projections/views"
)

func TestANameThatDoesNotExistIsSaidWithTheNearest(t *testing.T) {
	s := newSeen()
	for _, v := range []views.Service{{Namespace: "demo", Name: "web"}, {Namespace: "demo", Name: "db"}, {Namespace: "shop", Name: "basket"}} {
		s.services[v.Namespace+"."+v.Name] = v
	}
	for of, want := range map[within]string{
		{}:                 "",
		{"demo", ""}:       "",
		{"demo", "web"}:    "",
		{"demo", "weeb"}:   "there is no service demo/weeb: did you mean demo/web?",
		{"demos", "web"}:   "there is no service demos/web: did you mean demo/web?",
		{"demmo", ""}:      "there is no namespace demmo: did you mean demo?",
		{"elsewhere", "x"}: "there is no service elsewhere/x: there are demo/db, demo/web, shop/basket",
	} {
		said := ""
		if err := s.missingOf(of); err != nil {
			said = err.Error()
		}
		if said != want {
			t.Errorf("%v: %q, want %q", of, said, want)
		}
	}
	if err := newSeen().missingOf(within{"demo", ""}); err == nil || err.Error() != "there is no namespace demo, nor any other namespace" {
		t.Errorf("of an empty cluster: %v", err)
	}
}
