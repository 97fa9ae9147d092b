package rookerytest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rookery-project/rookery/deploy/grafana/query"
	"github.com/rookery-project/rookery/deploy/grafana/written"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

var picturesFolder = flag.String("pictures", "", "write a picture of each screen into the `folder`")

// TestDashboardsOnPodman lets a real Prometheus scrape a whole Rookery that goes through operations of all kinds. It runs each query of
// each screen: every query must find something. Then it makes each alert fire by its fault, and waits until the alert stops after the fault
// is healed.
func TestDashboardsOnPodman(t *testing.T) {
	t.Parallel()
	f := startTrial(t)
	screens, err := written.Screens(os.DirFS("../../deploy/grafana"))
	if err != nil {
		t.Fatal(err)
	}
	g := &gallery{scene: &scene{trial: f, host: f.hosts[0], beside: f.hosts[1]}, prometheus: f.startPrometheus(), began: time.Now(), screens: screens}
	g.collect()
	if wrong := attempt(g.all); wrong != "" {
		t.Error(wrong)
	}
	if wrong := g.heal(); wrong != "" {
		t.Error(wrong)
	}
	fmt.Printf("dashboards %d, panels %d, queries %d, empty %d\n", len(screens), g.panels, len(g.queries), len(g.empty))
}

// gallery is all screens over a trial that Prometheus scrapes.
type gallery struct {
	*scene
	prometheus *prometheus
	began      time.Time
	screens    []written.Screen
	panels     int
	queries    []written.Query
	backups    string            // the folder of the coordinators' backups
	empty      map[string]string // what has not found anything yet: what Prometheus is asked, by where it stands
}

// all is the whole run: what happens to the cluster, what the screens show of it, and which alerts fire.
func (g *gallery) all() {
	g.backsUp()
	g.operations()
	g.troubles()
	g.fill()
	g.draw()
	sounded := map[string]bool{}
	for _, a := range alarms {
		g.sounds(a)
		sounded[a.alert] = true
	}
	for name := range g.prometheus.alertRules() {
		if !sounded[name] {
			g.t.Errorf("no fault has %s fire", name)
		}
	}
}

// backsUp starts the coordinators again, with backups.
func (g *gallery) backsUp() {
	g.backups = filepath.Join(g.t.TempDir(), "backups")
	for _, c := range g.coordinators {
		c.process.kill()
		c.more = []string{"--backup", g.backups, "--backup-every", "10s", "--backup-keep", "3"}
		g.startCoordinator(c)
	}
}

// collect takes all queries, of panels, variables, annotations and alerts.
func (g *gallery) collect() {
	for _, s := range g.screens {
		of, err := s.Queries()
		if err != nil {
			g.t.Fatal(err)
		}
		g.queries = append(g.queries, of...)
		g.panels += len(s.Panels)
	}
	rules := g.prometheus.alertRules()
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		g.queries = append(g.queries, written.Query{Where: "rules.yaml, " + name, Expr: rules[name]})
	}
	g.empty = map[string]string{}
	for _, q := range g.queries {
		g.empty[q.Where] = ownPart(query.Expand(q.Expr, g.variables()))
	}
}

// variables are the values for a screen that shows the whole run, with a scrape every three seconds.
func (g *gallery) variables() map[string]string {
	vars := query.Everything()
	vars["__range"], vars["__rate_interval"], vars["__interval"] = "15m", "15s", "6s"
	return vars
}

// ownPart is the query without the 0 that a panel shows when there is nothing: the test wants a real series.
func ownPart(expr string) string {
	own, _, _ := strings.Cut(expr, " or on() ")
	return own
}

// look runs all queries that have not found anything yet.
func (g *gallery) look() {
	for _, where := range slices.Sorted(maps.Keys(g.empty)) {
		expr := g.empty[where]
		if strings.Contains(where, ", annotation ") {
			// It marks moments of the past: between two looks one may come and go.
			expr = fmt.Sprintf("max_over_time((%s)[%ds:1s])", expr, int(time.Since(g.began).Seconds())+1)
		}
		found, err := g.prometheus.value(expr)
		if err != nil {
			g.fail("%s: %v\n%s", where, err, expr)
		}
		if has(found) {
			delete(g.empty, where)
		}
	}
}

// fill waits until each query has found something, except the queries of alerts, which fire later.
func (g *gallery) fill() {
	const patience = 2 * time.Minute // what a process uses is measured twice within one
	g.within(patience, func() bool {
		g.look()
		return !slices.ContainsFunc(slices.Collect(maps.Keys(g.empty)), ofScreen)
	})
	for where, expr := range g.empty {
		if ofScreen(where) {
			g.t.Errorf("%s finds nothing:\n%s", where, expr)
		}
	}
}

func ofScreen(where string) bool { return !strings.HasPrefix(where, "rules.yaml") }

// drawer is the program that draws screens.
var drawer = sync.OnceValues(func() (string, error) { return compiled("draw", "./draw", "-C", "../../deploy/grafana/check") })

// draw draws the screens of the run so far. No panel may stay empty. A panel may be empty for a moment, if a busy part did not answer
// Prometheus in time.
func (g *gallery) draw() {
	program, err := drawer()
	if err != nil {
		g.t.Fatal(err)
	}
	args := []string{"-prometheus", g.prometheus.address, "-screens", "../../deploy/grafana", "-from", g.began.Format(time.RFC3339), "-into", *picturesFolder}
	for name, value := range g.variables() {
		args = append(args, "-var", name+"="+value)
	}
	var empty map[string][]string
	whole := g.within(settlesWithin, func() bool {
		var said bytes.Buffer
		draws := exec.CommandContext(g.interrupted, program, args...)
		draws.Stderr = &said
		out, err := draws.Output()
		if err != nil {
			g.fail("drawing the screens: %v: %s", err, said.String())
		}
		empty = nil
		if err := json.Unmarshal(out, &empty); err != nil {
			g.fail("what was drawn is told as %q: %v", out, err)
		}
		return len(empty) == 0
	})
	if !whole {
		g.fail("these panels are empty: %v", empty)
	}
}

// step is something that an operator does with the cluster, or that happens to it.
type step struct {
	what string
	do   func()
}

// take carries out the steps in their order, and looks at all queries after each step.
func (g *gallery) take(steps []step) {
	for _, s := range steps {
		if wrong := attempt(s.do); wrong != "" {
			g.fail("%s: %s", s.what, wrong)
		}
		g.look()
	}
}

// asks publishes a command, which must succeed.
func (g *gallery) asks(service, verb, body string) {
	if outcome := g.Outcome(g.published(service, verb, body)); outcome.Outcome != "succeeded" {
		g.fail("%s of %s ended as %+v", verb, service, outcome)
	}
}

func (g *gallery) published(service, verb, body string) uint64 {
	sequence, ok := g.command(service, verb, body)
	if !ok {
		g.fail("%s of %s was not acknowledged", verb, service)
	}
	return sequence
}

// orders publishes a command to a node or the cluster, which must succeed.
func (g *gallery) orders(to, body string) {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(g.interrupted, patience)
	defer cancel()
	sequence, err := g.Bus().Publish(ctx, events.Message{Subject: events.CommandRoot + "." + to, Body: []byte(body)})
	if err != nil {
		g.fail("%s: %v", to, err)
	}
	if outcome := g.Outcome(sequence); outcome.Outcome != "succeeded" {
		g.fail("%s ended as %+v", to, outcome)
	}
}

// webSpec is a spec of the small image, with more fields.
func webSpec(fields string) string {
	return fmt.Sprintf(`{"image":%q,"stop_grace":"1s","restart":{"delay":"100ms","max_delay":"1s"}%s}`, podmantest.WebReference, fields)
}

// operations takes the cluster through all kinds of operations, each to its end.
func (g *gallery) operations() {
	uris := make([]string, 0, len(g.hosts))
	for _, h := range g.hosts {
		uris = append(uris, h.uri)
	}
	podmantest.LoadShardKV(g.t, uris...)
	const held = `,"volumes":[{"name":"data","path":"/data","state":true}]`
	g.take([]step{
		{"an image that comes from a registry", func() {
			g.stocks("drawn")
			if outcome := g.Outcome(g.pulls()); outcome.Outcome != "succeeded" {
				g.fail("it ended as %+v", outcome)
			}
		}},
		{"a limit of the disk", func() { g.asks("demo/capped", "ensure", webSpec(`,"scale":1,"resources":{"disk":"64MiB"}`)) }},
		{"a rescale", func() {
			g.asks("demo/kv", "ensure", fmt.Sprintf(shardKV, podmantest.ShardKVReference, 2))
			g.asks("demo/kv", "scale", scaleBody(3))
		}},
		{"a snapshot, a suspend and a resume", func() {
			g.asks("demo/vault", "ensure", webSpec(`,"scale":1`+held))
			for _, verb := range []string{"snapshot", "suspend", "resume"} {
				g.asks("demo/vault", verb, `{}`)
			}
		}},
		{"an update, a restart and a rollback", func() {
			g.asks("demo/page", "ensure", webSpec(`,"scale":2,"update":{"min_healthy":"0s"}`))
			g.asks("demo/page", "ensure", webSpec(`,"env":{"SAY":"two"},"update":{"min_healthy":"0s"}`))
			g.asks("demo/page", "restart", `{}`)
			g.asks("demo/page", "rollback", `{}`)
		}},
		{"an update that goes back by itself", func() {
			bad := g.published("demo/page", "ensure",
				`{"image":"localhost/none:1","update":{"min_healthy":"0s","healthy_deadline":"2s","on_failure":"rollback"}}`)
			if outcome := g.Outcome(bad); outcome.Outcome != "failed" {
				g.fail("it ended as %+v", outcome)
			}
		}},
		{"a job, and a service that is scaled", func() { g.work() }},
		{"a host that is drained", func() {
			g.orders("node."+g.beside.name+".drain", `{}`)
			g.orders("node."+g.beside.name+".resume", `{}`)
		}},
		{"a host that is filled again", g.rebalances},
	})
}

// rebalances runs services on two of three hosts, and then rebalances them over all three. Each service has one instance, because placement
// prefers to keep instances of one service together.
func (g *gallery) rebalances() {
	g.orders("node."+g.beside.name+".pause", `{}`)
	const services = 4
	for i := range services {
		g.asks(fmt.Sprintf("demo/heavy-%d", i), "ensure", webSpec(`,"scale":1,"requests":{"cpu":"0.3"}`))
	}
	g.orders("node."+g.beside.name+".resume", `{}`)
	g.orders("cluster.rebalance", `{"max_moves":1,"min_gain":1}`)
	g.hears("cluster.rebalance-ended", `"moved":1`)
}

// troubles causes faults that the screens show. Some of them last for as long as the test looks at the screens.
func (g *gallery) troubles() {
	g.take([]step{
		{"a service that no node can have", func() { g.published("demo/nowhere", "ensure", webSpec(`,"scale":1,"node_selector":{"host":"none"}`)) }},
		{"a container that is killed", func() {
			g.runs("demo/frail", `,"scale":1`)
			g.signal(g.container("demo/frail").PID, syscall.SIGKILL)
			g.hears("service.demo.frail.instance.offline", "")
		}},
		{"an image that no registry has", func() {
			g.image += "-missing"
			g.published("demo/unknown", "ensure", fmt.Sprintf(`{"image":%q,"scale":1}`, g.image))
			g.hears("service.demo.unknown.instance.offline", "image-pull")
		}},
		{"an update that waits for slots", func() {
			g.asks("demo/stuck", "ensure", webSpec(`,"scale":2`))
			g.published("demo/stuck", "ensure",
				`{"image":"localhost/none:1","update":{"healthy_deadline":"20m","progress_deadline":"20m"}}`)
		}},
		{"an update that waits for an operator", func() {
			g.asks("demo/canary", "ensure", webSpec(`,"scale":2`))
			g.published("demo/canary", "ensure", webSpec(`,"env":{"SAY":"two"},"update":{"canaries":1,"min_healthy":"0s"}`))
		}},
		{"an update that has failed and is paused", func() { g.pauses("demo/failed") }},
	})
}

// pauses updates a service to an image that does not exist, so that the update fails and is paused.
func (g *gallery) pauses(service string) {
	g.asks(service, "ensure", webSpec(`,"scale":1`))
	g.published(service, "ensure",
		`{"image":"localhost/none:1","update":{"min_healthy":"0s","healthy_deadline":"1s","progress_deadline":"1s","on_failure":"pause"}}`)
}
