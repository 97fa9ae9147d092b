package events

import (
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		name  string
		valid bool
	}{
		{"a", true},
		{"0", true},
		{"web", true},
		{"web-2", true},
		{"a--b", true},
		{"1-2", true},
		{strings.Repeat("a", 63), true},
		{strings.Repeat("a", 64), false},
		{"", false},
		{"-", false},
		{"-web", false},
		{"web-", false},
		{"Web", false},
		{"web.x", false},
		{"web*", false},
		{"*", false},
		{">", false},
		{"we_b", false},
		{"we b", false},
		{"web\n", false},
		{"web\x00", false},
		{"wéb", false},
		{"w\xffb", false},
	} {
		if got := ValidName(tt.name); got != tt.valid {
			t.Errorf("ValidName(%q) = %v", tt.name, got)
		}
	}
}

func TestServiceIDs(t *testing.T) {
	id, err := ParseServiceID("demo/web")
	if err != nil || id != (ServiceID{Namespace: "demo", Name: "web"}) || id.String() != "demo/web" {
		t.Fatalf("got %v, %v", id, err)
	}
	for _, tt := range []struct{ text, field string }{
		{"", "service"},
		{"demo", "service"},
		{"/web", "namespace"},
		{"demo/", "name"},
		{"demo/web/x", "name"},
		{"Demo/web", "namespace"},
		{"demo/\x1b[2J", "name"},
	} {
		_, err := ParseServiceID(tt.text)
		wantRejection(t, err, CodeInvalidName, tt.field)
	}
}

func TestInstancesHaveOneOrder(t *testing.T) {
	at := func(namespace, name string, ordinal, generation uint32) InstanceID {
		return InstanceID{Service: ServiceID{Namespace: namespace, Name: name}, Ordinal: ordinal, Generation: generation}
	}
	ordered := []InstanceID{at("a", "a", 0, 1), at("a", "a", 0, 2), at("a", "a", 1, 0), at("a", "a", 10, 0), at("a", "b", 0, 0), at("b", "a", 0, 0)}
	shuffled := []InstanceID{ordered[3], ordered[5], ordered[0], ordered[4], ordered[2], ordered[1]}
	slices.SortFunc(shuffled, InstanceID.Compare)
	if !slices.Equal(ordered, shuffled) {
		t.Errorf("sorted as %v", shuffled)
	}
	if got := ordered[1].String(); got != "a/a.0.2" {
		t.Errorf("it prints as %s", got)
	}
}
