package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
)

// TestPiecesOfAComposeProject checks that jobs go out between the groups of services before and after them. An unchanged service is
// in no piece, but it still orders the services around it.
func TestPiecesOfAComposeProject(t *testing.T) {
	after := map[string][]string{"migrate": {"db"}, "web": {"migrate", "cache"}, "proxy": {"web"}, "seed": {"migrate"}, "report": {"proxy"}}
	for _, c := range []struct{ changes, jobs, want string }{
		{"db cache web proxy", "migrate", "cache db proxy web"},
		{"cache db migrate proxy seed web", "migrate seed", "cache db; migrate; seed; proxy web"},
		{"db web", "", "db web"},
		{"report seed", "report seed", "report seed"},
		{"proxy report", "report", "proxy; report"},
		{"migrate", "migrate", "migrate"},
	} {
		p := &plan{Namespace: "shop", composed: composed{grouped: true, after: after}}
		var steps []*step
		for name := range strings.FieldsSeq(c.changes) {
			ask := events.ServiceEnsure{}
			if slices.Contains(strings.Fields(c.jobs), name) {
				ask.Mode = events.ModeJob
			}
			steps = append(steps, &step{Service: events.ServiceID{Namespace: "shop", Name: name}, ask: ask})
		}
		var got []string
		for _, piece := range p.pieces(steps) {
			var names []string
			for _, s := range piece {
				names = append(names, s.Service.Name)
			}
			slices.Sort(names)
			got = append(got, strings.Join(names, " "))
		}
		if said := strings.Join(got, "; "); said != c.want {
			t.Errorf("%s with the jobs %s goes out as %q, want %q", c.changes, c.jobs, said, c.want)
		}
	}
	if got := strings.Join((&plan{composed: composed{after: after}}).before("proxy"), " "); got != "cache db migrate web" {
		t.Errorf("proxy comes after %s", got)
	}
}
