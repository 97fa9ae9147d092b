package rookerytest_test

import (
	"strings"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
)

// TestACommandToAnythingIsPlanned asks by the bus alone what commands to a node, a group and the cluster would do.
func TestACommandToAnythingIsPlanned(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(2))
	cluster.Until("both nodes have joined", func() bool { return cluster.State().Nodes == 2 })
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":2}`)

	var drain coordinator.DrainPlan
	askUntil(t, cluster, "plan", `{"node":"node-0","verb":"drain","body":{"deadline":"5m"}}`, &drain)
	if drain.Node != "node-0" || drain.Sequence == 0 || len(drain.Instances) != 1 || drain.Instances[0].Action != coordinator.DrainMove || drain.Instances[0].To != "node-1" {
		t.Errorf("the drain is planned as %+v", drain)
	}
	drain = coordinator.DrainPlan{}
	askUntil(t, cluster, "plan", `{"node":"nod-1","verb":"drain","body":{}}`, &drain)
	if drain.Rejection == nil || drain.Rejection.Code != events.CodeNotFound || drain.Rejection.Reason != "there is no node nod-1: did you mean node-1?" {
		t.Errorf("the drain of a node that is not there is planned as %+v", drain)
	}
	var moves coordinator.RebalancePlan
	askUntil(t, cluster, "plan", `{"verb":"rebalance","body":{}}`, &moves)
	if moves.Sequence == 0 || len(moves.Moves) != 0 {
		t.Errorf("the rebalancing of what is even is planned as %+v", moves)
	}
	for question, want := range map[string]string{
		`{"node":"node-0","verb":"pause","body":{}}`:                                                             "node node-0.paused",
		`{"verb":"policy","body":{"same_node":0}}`:                                                               "cluster.policy-changed",
		`{"group":"demo/stack","verb":"ensure","body":{"services":{"db":{"image":"localhost/db:1","scale":1}}}}`: "service demo/db.placed",
	} {
		var plan coordinator.CommandPlan
		askUntil(t, cluster, "plan", question, &plan)
		if plan.Rejection != nil || !strings.Contains(strings.Join(plan.Events, " "), want) {
			t.Errorf("%s is planned as %+v %+v, want %s", question, plan.Rejection, plan.Events, want)
		}
	}
	var bad coordinator.CommandPlan
	askUntil(t, cluster, "plan", `{"verb":"policy","body":{"preset":"swarm"}}`, &bad)
	if bad.Rejection == nil || bad.Rejection.Field != "preset" || len(bad.Events) > 0 {
		t.Errorf("an invalid policy is planned as %+v", bad)
	}
	if paused := cluster.State(); paused.Open != 0 {
		t.Errorf("%d commands are open: a plan does nothing", paused.Open)
	}
}
