package rookerytest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// webWith is a spec of the example service that says this.
func webWith(said string) string {
	return fmt.Sprintf(`{"image":%q,"stop_grace":"1s","env":{"SAY":%q}}`, podmantest.WebReference, said)
}

// ended returns the ends of every command that the log has, by the command's sequence.
func ended(cluster *rookerytest.Cluster) map[uint64][]string {
	ends := map[uint64][]string{}
	cluster.Replay(func(records []events.Record) {
		for _, r := range records {
			switch outcome := r.Data.(type) {
			case events.CommandSucceeded, events.CommandFailed, events.CommandSuperseded, events.CommandRejected:
				sequence := outcome.(events.Outcome).CommandSequence()
				ends[sequence] = append(ends[sequence], r.Data.Kind().Name)
			}
		}
	})
	return ends
}

// TestTwoCommandsAtOnce sends commands to a service whose earlier command has not ended, on the real Podman. Each command is rejected,
// waits or supersedes the other, as its field busy says. Every accepted command ends once.
func TestTwoCommandsAtOnce(t *testing.T) {
	t.Parallel()
	r := startReal(t)
	r.Until("the node has joined", func() bool { return r.State().Nodes == 1 })
	ask(t, r.Cluster, "rookery.cmd.node.edge.pause", `{}`)
	first := r.Publish("demo/web", "ensure", webWith("one"))
	if outcome := r.Outcome(r.Publish("demo/web", "scale", `{"scale":2}`)); outcome.Outcome != "rejected" || outcome.Other != first {
		t.Errorf("a command to a busy service ended as %+v, want rejected for command %d", outcome, first)
	}
	grown := r.Publish("demo/web", "scale", `{"scale":2,"busy":"queue"}`)
	restarted := r.Publish("demo/web", "restart", `{"busy":"queue"}`)
	r.Until("both wait", func() bool {
		var outcome struct {
			Queued bool `json:"queued"`
		}
		return r.Ask("command", fmt.Sprintf(`{"sequence":%d}`, restarted), &outcome) && outcome.Queued
	})
	ask(t, r.Cluster, "rookery.cmd.node.edge.resume", `{}`)
	for _, sequence := range []uint64{first, grown, restarted} {
		if outcome := r.Outcome(sequence); outcome.Outcome != "succeeded" {
			t.Errorf("command %d ended as %+v, want succeeded", sequence, outcome)
		}
	}
	generations := r.generations()
	if want := []string{"0.2", "1.2"}; !slices.Equal(generations, want) {
		t.Errorf("running are %v, want %v: two instances, each of which the restart has replaced", generations, want)
	}

	ask(t, r.Cluster, "rookery.cmd.node.edge.pause", `{}`)
	revised := r.Publish("demo/web", "ensure", webWith("two"))
	waits := r.Publish("demo/web", "scale", `{"scale":9,"busy":"queue"}`)
	canceled := r.Publish("demo/web", "cancel", `{}`)
	for _, sequence := range []uint64{revised, waits} {
		if outcome := r.Outcome(sequence); outcome.Outcome != "superseded" || outcome.Other != canceled {
			t.Errorf("command %d ended as %+v, want superseded by %d", sequence, outcome, canceled)
		}
	}
	if outcome := r.Outcome(canceled); outcome.Outcome != "succeeded" {
		t.Errorf("the cancellation ended as %+v", outcome)
	}
	if now := r.generations(); !slices.Equal(now, generations) {
		t.Errorf("running are %v, want %v as before what was cancelled", now, generations)
	}
	for sequence, ends := range ended(r.Cluster) {
		if len(ends) != 1 {
			t.Errorf("command %d has ended as %v", sequence, ends)
		}
	}
	checkPhases(t, r.Cluster)
	r.CheckReplay()
}

// TestRollbackBringsBackWhatRan rolls a service back to an earlier revision, on the real Podman, with the command line.
func TestRollbackBringsBackWhatRan(t *testing.T) {
	t.Parallel()
	r := startReal(t)
	r.Ensure("demo/web", webWith("one"))
	r.Ensure("demo/web", webWith("two"))
	said := func() string {
		for _, c := range r.running() {
			env, err := r.podman("inspect", "--format", "{{range .Config.Env}}{{println .}}{{end}}", c.Handle)
			if err != nil {
				t.Fatalf("%v: %s", err, env)
			}
			return env
		}
		return ""
	}
	if env := said(); !strings.Contains(env, "SAY=two") {
		t.Fatalf("the second revision runs with\n%s", env)
	}
	if out, code := rookery(t, "rollback", "demo/web", "--server", r.URL); code != 0 {
		t.Fatalf("rollback: exit %d: %s", code, out)
	}
	if env := said(); !strings.Contains(env, "SAY=one") {
		t.Errorf("after the rollback it runs with\n%s", env)
	}
	if out, code := rookery(t, "rollback", "demo/web", "--to", "7", "--server", r.URL); code != 3 {
		t.Errorf("a rollback to what was never there: exit %d, want 3: %s", code, out)
	}
	if out, code := rookery(t, "scale", "demo/web", "2", "--if-seq", "1", "--server", r.URL); code != 3 {
		t.Errorf("a command for the service of long ago: exit %d, want 3: %s", code, out)
	}
	if out, code := rookery(t, "restart", "demo/web", "--server", r.URL); code != 0 {
		t.Errorf("restart: exit %d: %s", code, out)
	}
	if out, code := rookery(t, "cancel", "demo/web", "--server", r.URL); code != 0 {
		t.Errorf("cancel where nothing is under way: exit %d: %s", code, out)
	}
	if got, want := r.generations(), []string{"0.4"}; !slices.Equal(got, want) {
		t.Errorf("running are %v, want %v", got, want)
	}
	checkPhases(t, r.Cluster)
	r.CheckReplay()
}

// generations returns the ordinals and generations of the running containers, in order.
func (r *realNode) generations() []string {
	r.t.Helper()
	var all []string
	for id := range r.running() {
		all = append(all, fmt.Sprintf("%d.%d", id.Ordinal, id.Generation))
	}
	slices.Sort(all)
	return all
}
