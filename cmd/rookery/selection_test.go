package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestListsShowWhatIsSelected lists the example views by namespace, by label, sorted, as names and by an expression.
func TestListsShowWhatIsSelected(t *testing.T) {
	all := seenOf(t, exampleViews(t))
	for key, v := range all.services {
		if v.Name == "web" {
			v.Spec.Labels = map[string]string{"tier": "front"}
			all.services[key] = v
		}
	}
	names := func(s *selection, format string) string {
		var out bytes.Buffer
		o := output{format}
		if is, err := o.printSelected(&out, s.order(instancesPage(s.of(all), within{}, noon)).values); !is || err != nil {
			t.Fatal(is, err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	for _, tt := range []struct {
		name, format string
		s            selection
		want         string
	}{
		{"all", formatName, selection{}, "demo/stuck/0 demo/web/0 demo/web/1"},
		{"of a namespace", formatName, selection{namespace: "shop"}, ""},
		{"with a label", formatName, selection{labels: map[string]string{"tier": "front"}}, "demo/web/0 demo/web/1"},
		{"with another value of it", formatName, selection{labels: map[string]string{"tier": "back"}}, ""},
		{"sorted", formatName, selection{sort: "node"}, "demo/stuck/0 demo/web/0 demo/web/1"},
		{"sorted as numbers", formatName, selection{sort: "ordinal"}, "demo/stuck/0 demo/web/0 demo/web/1"},
		{"by an expression", formatPath + "$[?@.status=='offline'].node", selection{}, "edge-2"},
	} {
		if got := names(&tt.s, tt.format); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := (&selection{labels: map[string]string{"zone": "nowhere"}}).of(all).nodes; len(got) != 0 {
		t.Errorf("nodes without the label are shown: %v", got)
	}
}

func TestTextsThatBeginWithNumbersAreSortedAsSuch(t *testing.T) {
	for _, in := range [][2]string{{"9", "10"}, {"2m", "1h"}, {"59s", "2m"}, {"3/5", "10/10"}, {"a", "b"}, {"", "1"}} {
		if compareTexts(in[0], in[1]) >= 0 || compareTexts(in[1], in[0]) <= 0 {
			t.Errorf("%q does not come before %q", in[0], in[1])
		}
	}
}
