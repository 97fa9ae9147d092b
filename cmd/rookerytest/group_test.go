package rookerytest_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// shop is a group of three services: web comes after api, and that after db. The image is that of web.
func shop(image, say string) string {
	spec := func(image, more string) string {
		return fmt.Sprintf(`{"image":%q,"stop_grace":"1s","env":{"SAY":%q},"update":{"min_healthy":"0s","healthy_deadline":"10s","progress_deadline":"20s"}%s}`, image, say, more)
	}
	return fmt.Sprintf(`{"services":{"web":%s,"db":%s,"api":%s}}`,
		spec(image, `,"scale":2,"after":["api"]`), spec(podmantest.WebReference, ""), spec(podmantest.WebReference, `,"after":["db"]`))
}

// TestGroupsOnPodman deploys three services in their order with one command. Then all of them roll back because the image of the last one
// does not exist, and then all of them change. It does so with the program and with the nats CLI.
func TestGroupsOnPodman(t *testing.T) {
	t.Parallel()
	r := startReal(t)
	file := filepath.Join(t.TempDir(), "shop.json")
	ensure := func(services string) (string, int) {
		t.Helper()
		if err := os.WriteFile(file, []byte(services), 0o600); err != nil {
			t.Fatal(err)
		}
		return rookery(t, "group", "ensure", "demo/shop", "--file", file, "--server", r.URL)
	}

	if out, code := ensure(`{"services":{"web":{"image":"a","after":["db"]}}}`); code != 1 || !strings.Contains(out, `services.web.after names "db"`) {
		t.Errorf("a group that comes after what is not in it: exit %d: %s", code, out)
	}
	out, code := ensure(shop(podmantest.WebReference, "one"))
	for _, says := range []string{"group demo/shop", "group.started of db; then api; then web", "group.entered stage 3: web", "group.ended (done)"} {
		if code != 0 || !strings.Contains(out, says) {
			t.Fatalf("the first group: exit %d, and does not say %q: %s", code, says, out)
		}
	}
	if came := r.cameOnline(); came != "api after db, web after api" {
		t.Errorf("they came online %s", came)
	}
	before := r.running()

	out, code = ensure(shop("localhost/none:1", "two"))
	if code != 4 || !strings.Contains(out, "group-aborted") || !strings.Contains(out, "service demo/web") || !strings.Contains(out, "image-pull") {
		t.Errorf("a group of which one has no image: exit %d: %s", code, out)
	}
	for _, c := range r.said(t, "SAY=") {
		if c != "SAY=one" {
			t.Errorf("after the group went back there runs %s", c)
		}
	}
	if now := r.running(); len(now) != len(before) {
		t.Errorf("after the group went back there run %v, and before %v", slices.Collect(maps.Keys(now)), slices.Collect(maps.Keys(before)))
	}

	said := runNATS(t, r.Cluster, "req", "--raw", "rookery.cmd.group.demo.shop.ensure", shop(podmantest.WebReference, "three"))
	if !strings.Contains(said, "ROOKERY_COMMANDS") {
		t.Fatalf("the nats CLI got %s", said)
	}
	if outcome := r.Outcome(stored(t, r.Cluster)); outcome.Outcome != "succeeded" || outcome.Group != "demo/shop" {
		t.Errorf("the third group ended as %+v", outcome)
	}
	if got := r.said(t, "SAY="); strings.Join(got, " ") != "SAY=three SAY=three SAY=three SAY=three" {
		t.Errorf("after the third group there run %v", got)
	}
	checkPhases(t, r.Cluster)
	r.CheckReplay()
}

// cameOnline returns the services in the order in which their first instances came online, as in "api after db, web after api".
func (r *realNode) cameOnline() string {
	var order []string
	r.Replay(func(records []events.Record) {
		for _, record := range records {
			id, _ := record.Scope.Service()
			if _, online := record.Data.(events.InstanceOnline); online && !slices.Contains(order, id.Name) {
				order = append(order, id.Name)
			}
		}
	})
	var after []string
	for i := 1; i < len(order); i++ {
		after = append(after, order[i]+" after "+order[i-1])
	}
	return strings.Join(after, ", ")
}

// said returns the variables of all running containers that begin so, in order.
func (r *realNode) said(t *testing.T, prefix string) []string {
	t.Helper()
	var found []string
	for _, c := range r.running() {
		out, err := r.podman("inspect", "--format", "{{range .Config.Env}}{{println .}}{{end}}", c.Handle)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, prefix) {
				found = append(found, strings.TrimSpace(line))
			}
		}
	}
	slices.Sort(found)
	return found
}

// TestCoordinatorKilledInGroups kills the coordinator's process with SIGKILL as each stage of a group has begun, on the way there and
// on the way back, and starts another: each command ends once, with all services as it asks for or all as they were.
func TestCoordinatorKilledInGroups(t *testing.T) {
	t.Parallel()
	const stages = 3
	cluster := startCluster(t, rookerytest.WithoutCoordinator())
	leader := startCoordinator(t, cluster)
	publish := func(say, trap string) uint64 {
		t.Helper()
		spec := fmt.Sprintf(`"image":"localhost/a:1","env":{"SAY":%q},"update":{"min_healthy":"0s","healthy_deadline":"2s"}`, say)
		body := fmt.Sprintf(`{"services":{"db":{%s},"api":{%s,"after":["db"]},"web":{%s%s,"scale":2,"after":["api"]}}}`, spec, spec, spec, trap)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		id := events.GroupID{Namespace: "demo", Name: "shop"}
		sequence, err := cluster.Bus().Publish(ctx, events.Message{Subject: events.GroupSubject(id, "ensure"), Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		return sequence
	}
	commands := []uint64{publish("0", "")}
	cluster.Outcome(commands[0])
	stands := "0"
	for n := range 3 * stages { // there in 3 stages, or there and back in 6
		entered, err := cluster.Bus().Subscribe(events.EventRoot + ".group.demo.shop.entered")
		if err != nil {
			t.Fatal(err)
		}
		say, trap, want := fmt.Sprint(n+1), "", "succeeded"
		if n >= stages {
			trap, want = `,"node_selector":{"disk":"tape"}`, "failed"
		}
		sequence := publish(say, trap)
		commands = append(commands, sequence)
		for range 1 + n%stages + n/(2*stages)*stages {
			select {
			case <-entered.Messages():
			case <-time.After(time.Minute):
				t.Fatalf("no stage begins within a minute; the coordinator says:\n%s", leader.output)
			}
		}
		entered.Stop()
		leader.kill()
		tally.kills.Add(1)
		leader = startCoordinator(t, cluster)
		if outcome := cluster.Outcome(sequence); string(outcome.Outcome) != want {
			t.Errorf("group %d ended as %+v, want %s", n, outcome, want)
		}
		if want == "succeeded" {
			stands = say
		}
		checkSays(t, cluster, stands)
	}
	h := readHistory(t, cluster)
	h.checkCommands(t, commands)
	checkActual(t, cluster, h.cluster)
	checkPhases(t, cluster)
	cluster.CheckReplay()
}

// checkSays fails the test unless the log wants all services of the shop to run with this word.
func checkSays(t *testing.T, cluster *rookerytest.Cluster, want string) {
	t.Helper()
	specs := map[string]string{}
	cluster.Replay(func(records []events.Record) {
		for _, r := range records {
			if revised, ok := r.Data.(events.ServiceRevised); ok {
				id, _ := r.Scope.Service()
				specs[id.Name] = revised.Spec.Env["SAY"]
			}
		}
	})
	for _, name := range []string{"db", "api", "web"} {
		if specs[name] != want {
			t.Errorf("the spec of %s says %s, want %s", name, specs[name], want)
		}
	}
}
